#include "tensor/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "tensor/lanes.h"
#include "tensor/row_loop.h"
#include "tensor/vector_math.h"

namespace heed {
namespace {

constexpr int64_t kCost = 4;  // simple operations an element

// What a row without a number above -inf becomes: `masked`, or NaN if it holds
// one.
template <typename T>
void fill_masked(const T* x, T* y, int64_t n, T masked) {
  const bool has_nan = std::any_of(x, x + n, [](T v) { return v != v; });
  std::fill_n(y, n, has_nan ? std::numeric_limits<T>::quiet_NaN() : masked);
}

template <typename T>
[[gnu::always_inline]] inline void softmax_row(const T* x, T* y, int64_t n) {
  const T most = lane_max(x, n);
  if (most == -std::numeric_limits<T>::infinity()) {
    fill_masked(x, y, n, T(0));
    return;
  }
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    y[i] = vector_math::exp_up_to_40(x[i] - most);
  }
  const double total = lane_sum(n, [=](int64_t i) { return y[i]; });
  const T scale = static_cast<T>(1 / total);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    y[i] *= scale;
  }
}

// dx = y * (dy - sum(dy * y))
template <typename T>
[[gnu::always_inline]] inline void softmax_backward_row(
    const T* dy, const T* y, T* dx, int64_t n) {
  const T total =
      static_cast<T>(lane_sum(n, [=](int64_t i) { return dy[i] * y[i]; }));
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    dx[i] = y[i] * (dy[i] - total);
  }
}

// x - max is exact where it matters: log(sum) is not added to max, which may be
// large.
template <typename T>
[[gnu::always_inline]] inline void log_softmax_row(
    const T* x, T* y, int64_t n) {
  const T most = lane_max(x, n);
  if (most == -std::numeric_limits<T>::infinity()) {
    fill_masked(x, y, n, most);
    return;
  }
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    y[i] = vector_math::exp_up_to_40(x[i] - most);
  }
  const T log_total =
      static_cast<T>(std::log(lane_sum(n, [=](int64_t i) { return y[i]; })));
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    y[i] = (x[i] - most) - log_total;
  }
}

// dx = dy - exp(y) * sum(dy)
template <typename T>
[[gnu::always_inline]] inline void log_softmax_backward_row(
    const T* dy, const T* y, T* dx, int64_t n) {
  const T total = static_cast<T>(lane_sum(n, [=](int64_t i) { return dy[i]; }));
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    dx[i] = dy[i] - vector_math::exp(y[i]) * total;
  }
}

// `row` on every line of x along `dim`; a single number is a line of one.
template <typename Row>
Tensor map_lines(
    std::string_view who, const Tensor& x, int64_t dim, const Row& row) {
  check_defined(who, x);
  const Tensor lines = x.dim() == 0 ? x.reshape({1}) : x.contiguous();
  const int64_t d = normalize_dim(who, dim, lines.dim());
  return visit_floating(who, x.dtype(), [&]<typename T>(TypeTag<T>) {
    Tensor y(lines.shape(), x.dtype());
    row_loop<T, 1>(
        lines.shape(), d, {lines.data<T>()}, y.mutable_data<T>(), kCost, row);
    return x.dim() == 0 ? y.reshape({}) : y;
  });
}

// As above on the lines of dy and y together.
template <typename Row>
Tensor zip_lines(
    std::string_view who,
    const Tensor& dy,
    const Tensor& y,
    int64_t dim,
    const Row& row) {
  check_alike(who, dy, "dy", y, "y");
  const bool single = y.dim() == 0;
  const Tensor a = single ? dy.reshape({1}) : dy.contiguous();
  const Tensor b = single ? y.reshape({1}) : y.contiguous();
  const int64_t d = normalize_dim(who, dim, b.dim());
  return visit_floating(who, y.dtype(), [&]<typename T>(TypeTag<T>) {
    Tensor dx(b.shape(), y.dtype());
    row_loop<T, 2>(
        b.shape(),
        d,
        {a.data<T>(), b.data<T>()},
        dx.mutable_data<T>(),
        kCost,
        row);
    return single ? dx.reshape({}) : dx;
  });
}

}  // namespace

Tensor softmax(const Tensor& x, int64_t dim) {
  return map_lines("softmax", x, dim, [](auto... row) { softmax_row(row...); });
}

Tensor log_softmax(const Tensor& x, int64_t dim) {
  return map_lines(
      "log_softmax", x, dim, [](auto... row) { log_softmax_row(row...); });
}

Tensor softmax_backward(const Tensor& dy, const Tensor& y, int64_t dim) {
  return zip_lines("softmax_backward", dy, y, dim, [](auto... row) {
    softmax_backward_row(row...);
  });
}

Tensor log_softmax_backward(const Tensor& dy, const Tensor& y, int64_t dim) {
  return zip_lines("log_softmax_backward", dy, y, dim, [](auto... row) {
    log_softmax_backward_row(row...);
  });
}

}  // namespace heed
