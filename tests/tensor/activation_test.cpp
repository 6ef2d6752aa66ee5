#include "tensor/activation.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "tensor/comparison.h"
#include "tensor/creation.h"

using namespace heed;

namespace {

const double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

double gelu_of(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }

double gelu_tanh_of(double x) {
  const double pi = std::acos(-1.0);
  return 0.5 * x *
         (1 + std::tanh(std::sqrt(2 / pi) * (x + 0.044715 * x * x * x)));
}

double silu_of(double x) { return x / (1 + std::exp(-x)); }

// Largest distance to f, relative to 1 or to f where that is larger.
template <typename F>
double error(const Tensor& y, const Tensor& x, const F& f) {
  const std::vector<double> in = x.to_vector<double>();
  const std::vector<double> out = y.to_vector<double>();
  double worst = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    const double expected = f(in[i]);
    worst = std::fmax(
        worst,
        std::fabs(out[i] - expected) / std::fmax(1.0, std::fabs(expected)));
  }
  return worst;
}

// f'(x) by central differences.
template <typename F>
auto slope(const F& f) {
  return [f](double x) { return (f(x + 1e-5) - f(x - 1e-5)) / 2e-5; };
}

}  // namespace

TEST_CASE("activations: agree with their formulas in both dtypes") {
  for (DType dtype : {kFloat32, kFloat64}) {
    const double tolerance = dtype == kFloat32 ? 4e-7 : 1e-14;
    const Tensor x = arange(-9, 9, 0.013, dtype).reshape({5, -1});
    CHECK(error(tanh(x), x, [](double v) { return std::tanh(v); }) < tolerance);
    CHECK(error(sigmoid(x), x, [](double v) {
            return 1 / (1 + std::exp(-v));
          }) < tolerance);
    CHECK(error(relu(x), x, [](double v) { return std::fmax(v, 0); }) == 0);
    CHECK(error(gelu(x), x, gelu_of) < tolerance);
    CHECK(error(gelu(x, GeluApproximation::tanh), x, gelu_tanh_of) < tolerance);
    CHECK(error(silu(x), x, silu_of) < tolerance);
    CHECK(error(normal_cdf(x), x, [](double v) {
            return 0.5 * std::erfc(-v / std::sqrt(2.0));
          }) < tolerance);
    CHECK(
        error(silu(x.transpose(0, 1)), x.transpose(0, 1), silu_of) < tolerance);
  }
}

TEST_CASE("gelu: PyTorch's values") {
  const Tensor x = tensor({-1., 0.5, 2.}, kFloat64);
  CHECK(allclose(
      gelu(x),
      tensor(
          {-0.15865525393145707, 0.3457312306370175, 1.9544997361036416},
          kFloat64),
      1e-14));
  CHECK(allclose(
      gelu(x, GeluApproximation::tanh),
      tensor(
          {-0.15880800939172324, 0.34571400982514394, 1.954597694087775},
          kFloat64),
      1e-14));
}

TEST_CASE("activation backwards: dy times the slope") {
  const Tensor x = arange(-5.99, 6, 0.11, kFloat64);
  const auto times3 = [](const auto& f) {
    return [d = slope(f)](double v) { return 3 * d(v); };
  };
  const Tensor dy = full({}, 3, kFloat64).expand(x.shape());
  const auto tanh_of = [](double v) { return std::tanh(v); };
  const auto sigmoid_of = [](double v) { return 1 / (1 + std::exp(-v)); };
  const auto relu_of = [](double v) { return std::fmax(v, 0); };
  CHECK(error(tanh_backward(dy, tanh(x)), x, times3(tanh_of)) < 1e-8);
  CHECK(error(sigmoid_backward(dy, sigmoid(x)), x, times3(sigmoid_of)) < 1e-8);
  CHECK(error(relu_backward(dy, relu(x)), x, times3(relu_of)) < 1e-8);
  CHECK(error(silu_backward(dy, x), x, times3(silu_of)) < 1e-8);
  CHECK(
      error(gelu_backward(dy, x, GeluApproximation::none), x, times3(gelu_of)) <
      1e-8);
  CHECK(
      error(
          gelu_backward(dy, x, GeluApproximation::tanh),
          x,
          times3(gelu_tanh_of)) < 1e-8);
}

TEST_CASE("activations: far out and NaN") {
  for (DType dtype : {kFloat32, kFloat64}) {
    const Tensor x = tensor({-1e30, -100., 100., 1e30, kNan}, dtype);
    const auto is = [&](const Tensor& y, const Values& expected) {
      return allclose(y, tensor(expected, dtype), 1e-6, 1e-30, true);
    };
    CHECK(is(tanh(x), {-1., -1., 1., 1., kNan}));
    CHECK(is(relu(x), {0., 0., 100., 1e30, kNan}));
    CHECK(allclose(
        sigmoid(x), tensor({0., 0., 1., 1., kNan}, dtype), 1e-6, 1e-40, true));
    CHECK(allclose(
        gelu(x), tensor({0., 0., 100., 1e30, kNan}, dtype), 1e-6, 1e-30, true));
    CHECK(allclose(
        silu(x), tensor({0., 0., 100., 1e30, kNan}, dtype), 1e-6, 1e-10, true));
  }
  CHECK(tanh(tensor(kInf)).item<float>() == 1);
  CHECK(sigmoid(tensor(-kInf)).item<float>() == 0);
}

TEST_CASE("gelu backward: the slope far out is 0 or 1") {
  const Tensor x = tensor({-1e30, -1e10, -50., 50., 1e10, 1e30});
  for (const auto approximation :
       {GeluApproximation::none, GeluApproximation::tanh}) {
    CHECK(allclose(
        gelu_backward(full({6}, 3.0), x, approximation),
        tensor({0., 0., 0., 3., 3., 3.}),
        1e-6,
        1e-30));
  }
}

TEST_CASE("relu: takes integers; its slope is 0 at 0") {
  CHECK(equal(relu(tensor({-3, 0, 4})), tensor({0, 0, 4})));
  const Tensor dy = tensor({5., 5., 5.});
  CHECK(equal(
      relu_backward(dy, relu(tensor({-1., 0., 2.}))), tensor({0., 0., 5.})));
  CHECK(equal(relu_backward(tensor({kInf, kNan}), zeros({2})), zeros({2})));
}

TEST_CASE("activations: take floating tensors only") {
  const Tensor n = tensor({1, 2});
  CHECK_THROWS_WITH_AS(
      tanh(n),
      "tanh: dtype must be float32 or float64, got int64",
      std::invalid_argument);
  CHECK_THROWS_AS(sigmoid(n), std::invalid_argument);
  CHECK_THROWS_AS(gelu(n), std::invalid_argument);
  CHECK_THROWS_AS(silu(n), std::invalid_argument);
  CHECK_THROWS_AS(relu(tensor({true})), std::invalid_argument);
  CHECK_THROWS_AS(relu(Tensor()), std::invalid_argument);
  CHECK_THROWS_AS(tanh_backward(ones({2}), ones({3})), std::invalid_argument);
}

TEST_CASE("activations: empty tensors and numbers") {
  CHECK(gelu(zeros({0, 3})).shape() == Shape{0, 3});
  CHECK(silu(tensor(0.)).shape() == Shape{});
}
