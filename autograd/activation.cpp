#include "autograd/activation.h"

#include <cmath>
#include <numbers>

#include "autograd/elementwise.h"
#include "autograd/grad_mode.h"
#include "autograd/record.h"

namespace heed {
namespace {

constexpr double kSqrt2OverPi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
constexpr double kCubic = 0.044715;

// dy where y > 0, else 0: linear in dy and a step in y, so that its derivative
// is itself.
Variable relu_gate(const Variable& dy, const Variable& y) {
  return record(
      "relu_backward",
      relu_backward(dy.value(), y.value()),
      {{dy,
        [y = saved(y)](const Variable& ddx) { return relu_gate(ddx, y); }}});
}

// p(x) = e^(-x^2 / 2) / sqrt(2 pi)
Variable normal_density(const Variable& x) {
  return exp(x * x * -0.5) * (0.5 * kSqrt2OverPi);
}

// d/dx x P(x) = P(x) + x p(x)
Variable gelu_slope(const Variable& x) {
  return normal_cdf(x) + x * normal_density(x);
}

Variable gelu_tanh_slope(const Variable& x) {
  const Variable square = x * x;
  const Variable t = tanh((x + square * x * kCubic) * kSqrt2OverPi);
  const Variable slope = (square * (3 * kCubic) + 1) * kSqrt2OverPi;
  return ((t + 1) + x * (1 - t * t) * slope) * 0.5;
}

}  // namespace

Variable tanh(const Variable& x) {
  return record(
      "tanh",
      tanh(x.value()),
      // dx = dy (1 - y^2)
      {{x, [](const Variable& dy, const Variable& y) {
          if (!grad_enabled()) {
            return Variable(tanh_backward(dy.value(), y.value()));
          }
          return dy * (1 - y * y);
        }}});
}

Variable sigmoid(const Variable& x) {
  return record(
      "sigmoid",
      sigmoid(x.value()),
      // dx = dy y (1 - y)
      {{x, [](const Variable& dy, const Variable& y) {
          if (!grad_enabled()) {
            return Variable(sigmoid_backward(dy.value(), y.value()));
          }
          return dy * y * (1 - y);
        }}});
}

Variable relu(const Variable& x) {
  return record(
      "relu", relu(x.value()), {{x, [](const Variable& dy, const Variable& y) {
                                   return relu_gate(dy, y);
                                 }}});
}

Variable normal_cdf(const Variable& x) {
  return record(
      "normal_cdf",
      normal_cdf(x.value()),
      {{x, [x = saved(x)](const Variable& dy) {
          return dy * normal_density(x);
        }}});
}

Variable gelu(const Variable& x, GeluApproximation approximation) {
  return record(
      "gelu",
      gelu(x.value(), approximation),
      {{x, [x = saved(x), approximation](const Variable& dy) {
          const Variable& v = x;
          if (!grad_enabled()) {
            return Variable(
                gelu_backward(dy.value(), v.value(), approximation));
          }
          return dy * (approximation == GeluApproximation::none
                           ? gelu_slope(v)
                           : gelu_tanh_slope(v));
        }}});
}

Variable silu(const Variable& x) {
  return record(
      "silu",
      silu(x.value()),
      // dx = dy s (1 + x (1 - s)), s = sigmoid(x)
      {{x, [x = saved(x)](const Variable& dy) {
          const Variable& v = x;
          if (!grad_enabled()) {
            return Variable(silu_backward(dy.value(), v.value()));
          }
          const Variable s = sigmoid(v);
          return dy * s * (1 + v * (1 - s));
        }}});
}

}  // namespace heed
