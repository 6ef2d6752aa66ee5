#include "tensor/activation_dropout.h"

#include "tensor/dropout_mask.h"
#include "tensor/elementwise_loop.h"
#include "tensor/gelu.h"

namespace heed {
namespace {

constexpr int64_t kRelu = 2;  // simple operations an element
constexpr int64_t kGelu = 16;

// dropout(f(x)), for a draw that drops some.
template <typename F>
Tensor map(const Tensor& x, const DropoutDraw& draw, int64_t cost, const F& f) {
  const Tensor dense = x.contiguous();
  Tensor y(x.shape(), x.dtype());
  visit_floating("dropout", x.dtype(), [&]<typename T>(TypeTag<T>) {
    const DropoutMask<T> mask(draw.start, draw.p);
    const T* const from = dense.data<T>();
    dropout_into(y, mask, cost, [from, f](int64_t i, const auto& drop) {
      return drop(f(from[i]));
    });
  });
  return y;
}

// dropout(dy) * f(x), likewise.
template <typename F>
Tensor multiply(
    const Tensor& dy,
    const Tensor& x,
    const DropoutDraw& draw,
    int64_t cost,
    const F& f) {
  const Tensor dense_dy = dy.contiguous();
  const Tensor dense_x = x.contiguous();
  Tensor dx(x.shape(), x.dtype());
  visit_floating("dropout", x.dtype(), [&]<typename T>(TypeTag<T>) {
    const DropoutMask<T> mask(draw.start, draw.p);
    const T* const d = dense_dy.data<T>();
    const T* const from = dense_x.data<T>();
    dropout_into(dx, mask, cost, [d, from, f](int64_t i, const auto& drop) {
      return drop(d[i]) * f(from[i]);
    });
  });
  return dx;
}

}  // namespace

Tensor relu_dropout(const Tensor& x, const DropoutDraw& draw) {
  check_dropout("relu_dropout", x, draw.p);
  if (draw.p == 0) {
    return relu(x);
  }
  if (drops_all(draw.p)) {
    return dropout(x, draw.p, draw.start);
  }
  return map(x, draw, kRelu, [](auto v) { return v < 0 ? decltype(v){0} : v; });
}

Tensor gelu_dropout(
    const Tensor& x, GeluApproximation approximation, const DropoutDraw& draw) {
  check_dropout("gelu_dropout", x, draw.p);
  if (draw.p == 0) {
    return gelu(x, approximation);
  }
  if (drops_all(draw.p)) {
    return dropout(x, draw.p, draw.start);
  }
  return detail::visit_gelu(approximation, [&](auto kind) {
    return map(x, draw, kGelu, [](auto v) {
      return detail::gelu<decltype(kind)::value>(v);
    });
  });
}

Tensor relu_dropout_backward(const Tensor& dy, const Tensor& y, double p) {
  check_alike("relu_dropout_backward", dy, "dy", y, "y");
  check_dropout("relu_dropout_backward", y, p);
  Tensor dx(y.shape(), y.dtype());
  visit_floating("relu_dropout", y.dtype(), [&]<typename T>(TypeTag<T>) {
    const T scale = static_cast<T>(1 / (1 - p));
    zip_into<T, T>(dx, dy, y, kRelu, [scale](T d, T v) {
      return v <= 0 ? T(0) : d * scale;
    });
  });
  return dx;
}

Tensor gelu_dropout_backward(
    const Tensor& dy,
    const Tensor& x,
    GeluApproximation approximation,
    const DropoutDraw& draw) {
  check_alike("gelu_dropout_backward", dy, "dy", x, "x");
  check_dropout("gelu_dropout_backward", x, draw.p);
  if (draw.p == 0) {
    return gelu_backward(dy, x, approximation);
  }
  if (drops_all(draw.p)) {
    return dropout(dy, draw.p, draw.start);
  }
  return detail::visit_gelu(approximation, [&](auto kind) {
    return multiply(dy, x, draw, kGelu, [](auto v) {
      return detail::gelu_slope<decltype(kind)::value>(v);
    });
  });
}

}  // namespace heed
