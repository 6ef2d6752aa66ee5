#include "tensor/elementwise.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/parallel.h"

using namespace heed;

namespace {

const double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

// Equal, NaN to NaN.
bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && allclose(a, b, 0, 0, true);
}

// f of each element in double, within a few roundings of x's type.
void check_against(
    Tensor (*op)(const Tensor&), double (*f)(double), const Tensor& x) {
  const Tensor y = op(x);
  CHECK(y.shape() == x.shape());
  CHECK(y.dtype() == x.dtype());
  const std::vector<double> in = x.to_vector<double>();
  const std::vector<double> out = y.to_vector<double>();
  const double tolerance = x.dtype() == kFloat32 ? 5e-7 : 1e-15;
  for (size_t i = 0; i < in.size(); ++i) {
    const double expected = f(in[i]);
    CAPTURE(in[i]);
    CHECK(
        std::fabs(out[i] - expected) <=
        tolerance * std::fmax(std::fabs(expected), 1e-3));
  }
}

}  // namespace

TEST_CASE("arithmetic: of tensors and of numbers on either side") {
  const Tensor a = tensor({1., 2., 3.});
  const Tensor b = tensor({4., 5., 8.});
  CHECK(equal(a + b, tensor({5., 7., 11.})));
  CHECK(equal(a - b, tensor({-3., -3., -5.})));
  CHECK(equal(a * b, tensor({4., 10., 24.})));
  CHECK(equal(b / a, tensor({4., 2.5, 8. / 3})));
  CHECK(equal(a + 1, tensor({2., 3., 4.})));
  CHECK(equal(1 + a, a + 1));
  CHECK(equal(a - 0.5, tensor({0.5, 1.5, 2.5})));
  CHECK(equal(10 - a, tensor({9., 8., 7.})));
  CHECK(equal(2 * a, a + a));
  CHECK(equal(a * 2.0, a + a));
  CHECK(equal(a / 2, tensor({0.5, 1., 1.5})));
  CHECK(equal(6 / a, tensor({6., 3., 2.})));
  CHECK(equal(-a, 0 - a));
}

TEST_CASE("arithmetic: shapes broadcast") {
  const Tensor m = tensor({{1., 2., 3.}, {4., 5., 6.}});
  const Tensor row = tensor({10., 20., 30.});
  const Tensor column = tensor({{100.}, {200.}});
  CHECK(equal(m + row, tensor({{11., 22., 33.}, {14., 25., 36.}})));
  CHECK(equal(row - m, tensor({{9., 18., 27.}, {6., 15., 24.}})));
  CHECK(equal(m + column, tensor({{101., 102., 103.}, {204., 205., 206.}})));
  CHECK(equal(column - m, tensor({{99., 98., 97.}, {196., 195., 194.}})));
  CHECK(equal(column + row, tensor({{110., 120., 130.}, {210., 220., 230.}})));
  CHECK(equal(tensor(1.) + m, m + 1));
  CHECK((zeros({0, 3}) + row).shape() == Shape{0, 3});
  CHECK((ones({2, 1, 4, 6}) * ones({2, 1, 4, 1})).shape() == Shape{2, 1, 4, 6});
  CHECK_THROWS_WITH_AS(
      m + ones({2}),
      "add: shapes must broadcast (equal sizes or 1, aligned at the end), "
      "got [2, 3] and [2]",
      std::invalid_argument);
}

TEST_CASE("arithmetic: strided operands") {
  const Tensor x = arange(24, kFloat32).reshape({4, 6});
  const Tensor turned = x.transpose(0, 1);
  const Tensor cut = x.slice(1, 0, 6, 2);
  const Tensor picked = x.slice(0, 1, 4, 2).slice(1, 1, 6);
  CHECK(equal(turned + turned, turned.clone() * 2));
  CHECK(equal(cut - cut.clone(), zeros({4, 3})));
  CHECK(equal(turned.slice(1, 0, 3) * 2, turned.clone().slice(1, 0, 3) * 2));
  CHECK(equal(x[1].expand({4, 6}) + x, x[1].clone() + x));
  CHECK(equal(-picked, -picked.clone()));
}

TEST_CASE("arithmetic: large tensors, the same bits for any thread count") {
  const Tensor x = sin(arange(700 * 301, kFloat32)).reshape({700, 301});
  const Tensor row = cos(arange(301, kFloat32));
  const Tensor column = cos(arange(700, kFloat32)).unsqueeze(1);
  const int before = num_threads();
  std::vector<Tensor> results;
  for (int threads : {1, 2, 4}) {
    set_num_threads(threads);
    results.push_back(
        (x * row + column) / exp(x) - tanh(row - x) * gelu(column * x) +
        (2 - x.transpose(0, 1)).transpose(0, 1));
  }
  set_num_threads(before);
  CHECK(equal(results[0], results[1]));
  CHECK(equal(results[0], results[2]));
  const double expected =
      (std::sin(1234.) * std::cos(1234 % 301) + std::cos(4.)) /
          std::exp(std::sin(1234.)) -
      std::tanh(std::cos(30.) - std::sin(1234.)) *
          (0.5 * std::cos(4.) * std::sin(1234.) *
           (1 + std::erf(std::cos(4.) * std::sin(1234.) / std::sqrt(2.)))) +
      2 - std::sin(1234.);
  CHECK(
      results[0][4][30].item<double>() ==
      doctest::Approx(expected).epsilon(1e-5));
}

TEST_CASE("arithmetic: dtypes never mix, numbers take the tensor's") {
  CHECK_THROWS_WITH_AS(
      ones({2}) * ones({3, 1}, kFloat64),
      "mul: both must have one dtype, got float32 [2] and float64 [3, 1]; "
      "convert one with to()",
      std::invalid_argument);
  CHECK((ones({2}, kFloat64) * 0.1f).dtype() == kFloat64);
  CHECK((ones({2}) * 0.1).dtype() == kFloat32);
  CHECK_THROWS_WITH_AS(
      ones({2}, kInt64) * 0.5,
      "mul: a tensor of dtype int64 takes integer scalars, got 0.5",
      std::invalid_argument);
  CHECK_THROWS_AS(ones({2}, kBool) + ones({2}, kBool), std::invalid_argument);
  CHECK_THROWS_AS(-ones({2}, kBool), std::invalid_argument);
  CHECK_THROWS_AS(Tensor() + ones({2}), std::invalid_argument);
  CHECK_THROWS_AS(Tensor() + 1, std::invalid_argument);
  CHECK_THROWS_AS(exp(Tensor()), std::invalid_argument);
}

TEST_CASE("arithmetic: integers wrap around and are not divided") {
  const int64_t most = std::numeric_limits<int64_t>::max();
  const int64_t least = std::numeric_limits<int64_t>::min();
  const Tensor x = tensor({most, least});
  CHECK(equal(x + 1, tensor({least, least + 1})));
  CHECK(equal(x * x, tensor({int64_t{1}, int64_t{0}})));
  CHECK(equal(-x, tensor({-most, least})));
  CHECK(equal(abs(x), tensor({most, least})));
  CHECK_THROWS_WITH_AS(
      x / x,
      "div: dtype must be float32 or float64, got int64",
      std::invalid_argument);
  CHECK_THROWS_AS(x / 2, std::invalid_argument);
  CHECK_THROWS_AS(2 / x, std::invalid_argument);
}

TEST_CASE("functions: agree with the C library, in both dtypes") {
  for (DType dtype : {kFloat32, kFloat64}) {
    const Tensor x = arange(-8, 8, 0.37, dtype);
    const Tensor positive = arange(0.01, 40, 0.77, dtype);
    check_against(exp, std::exp, x);
    check_against(sin, std::sin, x);
    check_against(cos, std::cos, x);
    check_against(
        neg, [](double v) { return -v; }, x);
    check_against(abs, std::fabs, x);
    check_against(log, std::log, positive);
    check_against(log1p, std::log1p, positive);
    check_against(sqrt, std::sqrt, positive);
    check_against(
        rsqrt, [](double v) { return 1 / std::sqrt(v); }, positive);
    check_against(exp, std::exp, x.slice(0, 0, 40, 3));
    check_against(exp, std::exp, zeros({0, 2}, dtype));
  }
}

TEST_CASE("functions: take floating tensors only") {
  const Tensor n = tensor({1, 2});
  for (auto f : {exp, log, log1p, sqrt, rsqrt, sin, cos}) {
    CHECK_THROWS_AS(f(n), std::invalid_argument);
    CHECK_THROWS_AS(f(eq(n, n)), std::invalid_argument);
  }
  CHECK_THROWS_WITH_AS(
      exp(n),
      "exp: dtype must be float32 or float64, got int64",
      std::invalid_argument);
  CHECK_THROWS_AS(pow(n, 2), std::invalid_argument);
}

TEST_CASE("functions: infinities, NaN and the ends of their domains") {
  for (DType dtype : {kFloat32, kFloat64}) {
    const Tensor x = tensor({-kInf, -1., 0., kInf, kNan}, dtype);
    CHECK(same(exp(x).slice(0, 2, 5), tensor({1., kInf, kNan}, dtype)));
    CHECK(exp(x)[0].item<double>() == 0);
    CHECK(same(log(x), tensor({kNan, kNan, -kInf, kInf, kNan}, dtype)));
    CHECK(same(log1p(x), tensor({kNan, -kInf, 0., kInf, kNan}, dtype)));
    CHECK(same(sqrt(x), tensor({kNan, kNan, 0., kInf, kNan}, dtype)));
    CHECK(same(rsqrt(x), tensor({kNan, kNan, kInf, 0., kNan}, dtype)));
    CHECK(same(abs(x), tensor({kInf, 1., 0., kInf, kNan}, dtype)));
  }
  CHECK(log1p(tensor(1e-10)).item<float>() == 1e-10f);
}

TEST_CASE("pow: tensors and numbers on either side") {
  const Tensor x = tensor({-2., 0., 1., 3.}, kFloat64);
  CHECK(equal(pow(x, 2), tensor({4, 0, 1, 9}, kFloat64)));
  CHECK(equal(pow(x, 3), tensor({-8, 0, 1, 27}, kFloat64)));
  CHECK(equal(pow(x, 1), x));
  CHECK(equal(pow(x, 0), tensor({1, 1, 1, 1}, kFloat64)));
  CHECK(equal(pow(x, -1), tensor({-0.5, kInf, 1., 1. / 3}, kFloat64)));
  CHECK(equal(pow(x, -2), tensor({0.25, kInf, 1., 1. / 9}, kFloat64)));
  CHECK(same(pow(x, 0.5), tensor({kNan, 0., 1., std::sqrt(3.)}, kFloat64)));
  CHECK(equal(pow(2, x), tensor({0.25, 1., 2., 8.}, kFloat64)));
  CHECK(equal(
      pow(x, tensor({3., 0., 5., 2.}, kFloat64)),
      tensor({-8, 1, 1, 9}, kFloat64)));
  CHECK(pow(tensor(kNan), 0).item<float>() == 1);
  CHECK(pow(tensor({{2.}}), tensor({1., 2.})).shape() == Shape{1, 2});
}

TEST_CASE("maximum and minimum: NaN wins, whichever side it is on") {
  const Tensor a = tensor({1., kNan, 3., kNan, -kInf});
  const Tensor b = tensor({2., 0., kNan, kNan, kInf});
  CHECK(same(maximum(a, b), tensor({2., kNan, kNan, kNan, kInf})));
  CHECK(same(minimum(a, b), tensor({1., kNan, kNan, kNan, -kInf})));
  CHECK(same(maximum(a, 2), tensor({2., kNan, 3., kNan, 2.})));
  CHECK(same(minimum(2, a), tensor({1., kNan, 2., kNan, -kInf})));
  CHECK(same(maximum(a, kNan), full({5}, kNan)));
  CHECK(equal(maximum(tensor({1, 5}), tensor({{3}})), tensor({{3, 5}})));
  CHECK_THROWS_AS(maximum(tensor(true), tensor(false)), std::invalid_argument);
}

TEST_CASE("clamp: the ends must be in order, NaN stays") {
  const Tensor x = tensor({-2., 0.5, kNan, 3.});
  CHECK(same(clamp(x, -1, 1), tensor({-1., 0.5, kNan, 1.})));
  CHECK(same(clamp(x, 0, kInf), tensor({0., 0.5, kNan, 3.})));
  CHECK(equal(clamp(tensor({1, 5, 9}), 2, 6), tensor({2, 5, 6})));
  CHECK_THROWS_WITH_AS(
      clamp(x, 2, 1),
      "clamp: low must be <= high, got 2 and 1",
      std::invalid_argument);
  CHECK_THROWS_AS(clamp(x, kNan, 1), std::invalid_argument);
  CHECK_THROWS_AS(clamp(tensor({1}), 0.5, 2), std::invalid_argument);
}

TEST_CASE("where: chooses, all three broadcast, any dtype") {
  const Tensor mask = tensor({{true}, {false}});
  const Tensor a = tensor({1., 2., 3.});
  const Tensor b = tensor({{-1.}, {-2.}});
  CHECK(equal(where(mask, a, b), tensor({{1., 2., 3.}, {-2., -2., -2.}})));
  CHECK(equal(where(mask, a, 0), tensor({{1., 2., 3.}, {0., 0., 0.}})));
  CHECK(equal(where(mask, 9, a), tensor({{9., 9., 9.}, {1., 2., 3.}})));
  CHECK(equal(
      where(tensor({true, false}), tensor({1, 2}), tensor({3, 4})),
      tensor({1, 4})));
  CHECK(equal(
      where(tensor({true, false}), tensor({true, true}), false),
      tensor({true, false})));
  CHECK(where(zeros({0, 3}, kBool), a, 1).shape() == Shape{0, 3});
  const Tensor turned = arange(6).reshape({2, 3}).transpose(0, 1);
  CHECK(equal(
      where(turned > 2, turned, 0),
      where(turned.clone() > 2, turned.clone(), 0)));
}

TEST_CASE("where: what is not chosen leaves no trace, NaN neither") {
  CHECK(equal(
      where(tensor({true, false}), tensor({1., kNan}), tensor({kInf, 2.})),
      tensor({1., 2.})));
}

TEST_CASE("where: the mask is bool, both sides of one dtype") {
  const Tensor x = ones({2});
  CHECK_THROWS_WITH_AS(
      where(x, x, x),
      "where: mask must have dtype bool, got float32",
      std::invalid_argument);
  CHECK_THROWS_AS(where(x > 0, x, ones({2}, kInt64)), std::invalid_argument);
  CHECK_THROWS_AS(where(ones({3}, kBool), x, x), std::invalid_argument);
  CHECK_THROWS_AS(where(Tensor(), x, x), std::invalid_argument);
}

TEST_CASE("masked_fill: x stays as it was, the mask broadcasts") {
  const Tensor x = zeros({2, 3});
  const Tensor y = masked_fill(x, tensor({true, false, true}), -kInf);
  CHECK(equal(y, tensor({{-kInf, 0., -kInf}, {-kInf, 0., -kInf}})));
  CHECK(equal(x, zeros({2, 3})));
  CHECK_THROWS_AS(masked_fill(x, x, 1), std::invalid_argument);
  CHECK_THROWS_AS(
      masked_fill(tensor({1}), tensor({true}), 0.5), std::invalid_argument);
}
