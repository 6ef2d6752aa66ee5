#include "tensor/activation.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>

#include "tensor/strided_loop.h"
#include "tensor/vector_math.h"

namespace heed {
namespace {

// Simple operations an element costs: a step; one exp or erf; two of them.
constexpr int64_t kStep = 1;
constexpr int64_t kFunction = 16;
constexpr int64_t kTwoFunctions = 32;

constexpr double kInverseSqrt2 = 0.5 * std::numbers::sqrt2;
constexpr double kInverseSqrt2Pi =
    kInverseSqrt2 * std::numbers::inv_sqrtpi;  // of the normal density
constexpr double kSqrt2OverPi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
constexpr double kCubic = 0.044715;  // as Hendrycks and Gimpel give it

template <typename F>
Tensor map(std::string_view who, const Tensor& x, int64_t cost, const F& f) {
  check_defined(who, x);
  return visit_floating(who, x.dtype(), [&]<typename T>(TypeTag<T>) {
    Tensor y(x.shape(), x.dtype());
    map_into<T, T>(y, x, cost, [&f](T v) { return f(v); });
    return y;
  });
}

// dx = f(dy, v) for v of dy's shape.
template <typename F>
Tensor zip(
    std::string_view who,
    const Tensor& dy,
    const Tensor& v,
    int64_t cost,
    const F& f) {
  check_same_dtype(who, dy, v);
  return visit_floating(who, dy.dtype(), [&]<typename T>(TypeTag<T>) {
    Tensor dx(broadcast_shapes(who, dy.shape(), v.shape()), dy.dtype());
    zip_into<T, T>(dx, dy, v, cost, [&f](T d, T e) { return f(d, e); });
    return dx;
  });
}

}  // namespace

Tensor tanh(const Tensor& x) {
  return map("tanh", x, kFunction, [](auto v) { return vector_math::tanh(v); });
}

Tensor sigmoid(const Tensor& x) {
  return map(
      "sigmoid", x, kFunction, [](auto v) { return vector_math::sigmoid(v); });
}

Tensor relu(const Tensor& x) {
  check_defined("relu", x);
  return visit_number("relu", x.dtype(), [&]<typename T>(TypeTag<T>) {
    Tensor y(x.shape(), x.dtype());
    map_into<T, T>(y, x, kStep, [](T v) { return v < 0 ? T{0} : v; });
    return y;
  });
}

Tensor normal_cdf(const Tensor& x) {
  return map("normal_cdf", x, kFunction, [](auto v) {
    using T = decltype(v);
    return T(0.5) * (1 + vector_math::erf(v * T(kInverseSqrt2)));
  });
}

Tensor gelu(const Tensor& x, GeluApproximation approximation) {
  if (approximation == GeluApproximation::none) {
    return map("gelu", x, kFunction, [](auto v) {
      using T = decltype(v);
      return T(0.5) * v * (1 + vector_math::erf(v * T(kInverseSqrt2)));
    });
  }
  return map("gelu", x, kFunction, [](auto v) {
    using T = decltype(v);
    const T inner = T(kSqrt2OverPi) * (v + T(kCubic) * v * v * v);
    // (1 + tanh(u)) / 2 = sigmoid(2 u), which does not cancel for u < 0.
    return v * vector_math::sigmoid(2 * inner);
  });
}

Tensor silu(const Tensor& x) {
  return map(
      "silu", x, kFunction, [](auto v) { return v * vector_math::sigmoid(v); });
}

Tensor tanh_backward(const Tensor& dy, const Tensor& y) {
  return zip("tanh_backward", dy, y, kStep, [](auto d, auto v) {
    return d * (1 - v * v);
  });
}

Tensor sigmoid_backward(const Tensor& dy, const Tensor& y) {
  return zip("sigmoid_backward", dy, y, kStep, [](auto d, auto v) {
    return d * v * (1 - v);
  });
}

Tensor relu_backward(const Tensor& dy, const Tensor& y) {
  return zip("relu_backward", dy, y, kStep, [](auto d, auto v) {
    return v <= 0 ? decltype(d){0} : d;
  });
}

Tensor gelu_backward(
    const Tensor& dy, const Tensor& x, GeluApproximation approximation) {
  if (approximation == GeluApproximation::none) {
    return zip("gelu_backward", dy, x, kTwoFunctions, [](auto d, auto v) {
      using T = decltype(v);
      const T below = T(0.5) * (1 + vector_math::erf(v * T(kInverseSqrt2)));
      const T density = T(kInverseSqrt2Pi) * vector_math::exp(T(-0.5) * v * v);
      return d * (below + v * density);
    });
  }
  return zip("gelu_backward", dy, x, kFunction, [](auto d, auto v) {
    using T = decltype(v);
    // Farther out the slope is 0 or 1, and a larger square only overflows.
    const T square = std::min(v * v, T(400));
    const T inner = T(kSqrt2OverPi) * (v + T(kCubic) * square * v);
    const T slope = T(kSqrt2OverPi) * (1 + T(3 * kCubic) * square);
    const T s = vector_math::sigmoid(2 * inner);
    return d * (s + v * 2 * s * (1 - s) * slope);
  });
}

Tensor silu_backward(const Tensor& dy, const Tensor& x) {
  return zip("silu_backward", dy, x, kFunction, [](auto d, auto v) {
    const auto s = vector_math::sigmoid(v);
    return d * s * (1 + v * (1 - s));
  });
}

}  // namespace heed
