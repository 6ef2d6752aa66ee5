#include "tensor/comparison.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "tensor/creation.h"

using namespace heed;

namespace {

const double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

}  // namespace

TEST_CASE("comparisons: of tensors, of numbers, as operators") {
  const Tensor a = tensor({1., 2., 3.});
  const Tensor b = tensor({3., 2., 1.});
  CHECK(equal(eq(a, b), tensor({false, true, false})));
  CHECK(equal(ne(a, b), tensor({true, false, true})));
  CHECK(equal(a < b, tensor({true, false, false})));
  CHECK(equal(a <= b, tensor({true, true, false})));
  CHECK(equal(a > b, tensor({false, false, true})));
  CHECK(equal(a >= b, tensor({false, true, true})));
  CHECK(equal(eq(a, 2), tensor({false, true, false})));
  CHECK(equal(ne(a, 2), tensor({true, false, true})));
  CHECK(equal(a < 2, tensor({true, false, false})));
  CHECK(equal(a <= 2, tensor({true, true, false})));
  CHECK(equal(a > 2, tensor({false, false, true})));
  CHECK(equal(a >= 2, tensor({false, true, true})));
  CHECK(equal(2 < a, a > 2));
  CHECK(equal(2 <= a, a >= 2));
  CHECK(equal(2 > a, a < 2));
  CHECK(equal(2 >= a, a <= 2));
}

TEST_CASE("comparisons: broadcast, strided, large and empty") {
  const Tensor x = arange(100000).reshape({400, 250});
  const Tensor turned = x.transpose(0, 1);
  CHECK(equal(turned < 777, turned.clone() < 777));
  CHECK((x < tensor({{5}})).shape() == Shape{400, 250});
  CHECK(equal(
      tensor({{1}, {2}}) < tensor({1, 2, 3}),
      tensor({{false, true, true}, {false, false, true}})));
  CHECK((zeros({0, 2}) < 1).shape() == Shape{0, 2});
  CHECK_THROWS_AS(lt(x, zeros({3}, kInt64)), std::invalid_argument);
}

TEST_CASE("comparisons: with NaN false, but for ne") {
  const Tensor nan = tensor({kNan});
  CHECK_FALSE(eq(nan, nan).item<bool>());
  CHECK(ne(nan, nan).item<bool>());
  CHECK_FALSE((nan < 1).item<bool>());
  CHECK_FALSE((nan >= 1).item<bool>());
}

TEST_CASE("comparisons: integers exactly, beyond what a double holds") {
  const int64_t big = (int64_t{1} << 53) + 1;
  CHECK_FALSE(eq(tensor({big}), big - 1).item<bool>());
  CHECK((tensor({big}) > big - 1).item<bool>());
}

TEST_CASE("comparisons: bools are equal or not, but in no order") {
  const Tensor t = tensor({true, false});
  CHECK(equal(eq(t, true), t));
  CHECK(equal(ne(t, t), tensor({false, false})));
  CHECK_THROWS_WITH_AS(
      lt(t, t),
      "lt: dtype must be float32, float64 or int64, got bool",
      std::invalid_argument);
  CHECK_THROWS_AS(eq(t, tensor({1, 0})), std::invalid_argument);
  CHECK_THROWS_AS(eq(tensor({1}), 0.5), std::invalid_argument);
}

TEST_CASE("logical functions: of bools only") {
  const Tensor a = tensor({false, false, true, true});
  const Tensor b = tensor({false, true, false, true});
  CHECK(equal(logical_and(a, b), tensor({false, false, false, true})));
  CHECK(equal(logical_or(a, b), tensor({false, true, true, true})));
  CHECK(equal(logical_xor(a, b), tensor({false, true, true, false})));
  CHECK(equal(logical_not(a), tensor({true, true, false, false})));
  CHECK(logical_or(a, tensor({{true}})).shape() == Shape{1, 4});
  CHECK_THROWS_WITH_AS(
      logical_and(a, ones({4})),
      "logical_and: dtype must be bool, got float32",
      std::invalid_argument);
  CHECK_THROWS_AS(logical_not(tensor({1})), std::invalid_argument);
}

TEST_CASE("isnan, isfinite, isinf: integers and bools are finite") {
  const Tensor x = tensor({1., kInf, -kInf, kNan});
  CHECK(equal(isnan(x), tensor({false, false, false, true})));
  CHECK(equal(isfinite(x), tensor({true, false, false, false})));
  CHECK(equal(isinf(x), tensor({false, true, true, false})));
  CHECK(equal(isfinite(x.to(kFloat64)), isfinite(x)));
  CHECK(isfinite(tensor(3)).item<bool>());
  CHECK_FALSE(isnan(tensor(true)).item<bool>());
  CHECK_FALSE(isinf(tensor(3)).item<bool>());
  CHECK(isfinite(tensor({3e38})).item<bool>());
}

TEST_CASE("allclose: relative to b, infinities only when equal") {
  CHECK(allclose(tensor({1., 100.}), tensor({1.000005, 100.0005})));
  CHECK_FALSE(allclose(tensor({1.}), tensor({1.0001})));
  CHECK(allclose(tensor({1.}), tensor({1.0001}), 1e-3));
  CHECK(allclose(tensor({0.}), tensor({0.001}), 0, 0.01));
  CHECK(allclose(tensor({kInf, -kInf}), tensor({kInf, -kInf})));
  CHECK_FALSE(allclose(tensor({kInf}), tensor({-kInf})));
  CHECK_FALSE(allclose(tensor({1.}), tensor({kInf})));
  CHECK_FALSE(allclose(tensor({kInf}), tensor({1.})));
  CHECK_FALSE(allclose(tensor({kNan}), tensor({kNan})));
  CHECK(allclose(tensor({kNan}), tensor({kNan}), 1e-5, 1e-8, true));
  CHECK_FALSE(allclose(tensor({kNan}), tensor({1.}), 1e-5, 1e-8, true));
  CHECK(allclose(ones({2, 3}), tensor(1.)));
  CHECK(allclose(zeros({0}), ones({0})));
  CHECK_THROWS_AS(allclose(ones({2}), ones({3})), std::invalid_argument);
  CHECK_THROWS_AS(
      allclose(ones({2}), ones({2}, kFloat64)), std::invalid_argument);
}

TEST_CASE("equal: one shape and every element, also the last of many") {
  CHECK(equal(ones({2, 3}), ones({2, 3})));
  CHECK_FALSE(equal(ones({2, 3}), ones({3, 2})));
  CHECK_FALSE(equal(ones({1}), ones({})));
  CHECK_FALSE(equal(tensor({kNan}), tensor({kNan})));
  CHECK(equal(zeros({0, 2}), zeros({0, 2})));
  Tensor x = zeros({500000});
  const Tensor y = x.clone();
  x[499999].fill_(1);
  CHECK_FALSE(equal(x, y));
  CHECK_THROWS_AS(equal(ones({1}), ones({1}, kInt64)), std::invalid_argument);
}
