#include "tensor/activation.h"

#include <string_view>

#include "tensor/elementwise_loop.h"
#include "tensor/gelu.h"
#include "tensor/vector_math.h"

namespace heed {
namespace {

// Simple operations an element costs: a step; one exp or erf; two of them.
constexpr int64_t kStep = 1;
constexpr int64_t kFunction = 16;
constexpr int64_t kTwoFunctions = 32;

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
  return map(
      "normal_cdf", x, kFunction, [](auto v) { return detail::normal_cdf(v); });
}

Tensor gelu(const Tensor& x, GeluApproximation approximation) {
  return detail::visit_gelu(approximation, [&](auto kind) {
    return map("gelu", x, kFunction, [](auto v) {
      return detail::gelu<decltype(kind)::value>(v);
    });
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
  return detail::visit_gelu(approximation, [&](auto kind) {
    return zip("gelu_backward", dy, x, kTwoFunctions, [](auto d, auto v) {
      return d * detail::gelu_slope<decltype(kind)::value>(v);
    });
  });
}

Tensor silu_backward(const Tensor& dy, const Tensor& x) {
  return zip("silu_backward", dy, x, kFunction, [](auto d, auto v) {
    const auto s = vector_math::sigmoid(v);
    return d * s * (1 + v * (1 - s));
  });
}

}  // namespace heed
