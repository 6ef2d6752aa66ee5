#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tensor/lanes.h"

namespace heed {

// Layer normalisation of one row of n numbers, for kernels that are called
// through simd::call.

/// What a row is normalised by. The mean is kept in two parts: x - mean must
/// not lose what x and a large mean differ by.
struct RowMoments {
  double mean;
  double rstd;  ///< 1 / sqrt(var + eps)

  template <typename T>
  T high() const {
    return static_cast<T>(mean);
  }
  template <typename T>
  T low() const {
    return static_cast<T>(mean - static_cast<double>(high<T>()));
  }
};

/// The moments of x. Deviations are taken from a first estimate of the mean,
/// which they then correct: neither x nor its squares need be added up exactly.
template <typename T>
[[gnu::always_inline]] inline RowMoments row_moments(
    const T* x, int64_t n, double eps) {
  const double count = static_cast<double>(n);
  const T center =
      static_cast<T>(lane_sum(n, [=](int64_t i) { return x[i]; }) / count);
  const auto sums = lane_sums<T, 2>(n, [=](int64_t i, T& sum, T& squares) {
    const T d = x[i] - center;
    sum += d;
    squares += d * d;
  });
  const double shift = sums[0] / count;
  const double var = std::max(sums[1] / count - shift * shift, 0.0);
  return {static_cast<double>(center) + shift, 1 / std::sqrt(var + eps)};
}

/// y = (x - mean) * rstd * weight + bias; y may be x.
template <typename T>
[[gnu::always_inline]] inline void layer_norm_row(
    const T* x,
    const T* weight,
    const T* bias,
    RowMoments moments,
    T* y,
    int64_t n) {
  const T high = moments.high<T>();
  const T low = moments.low<T>();
  const T rstd = static_cast<T>(moments.rstd);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    y[i] = ((x[i] - high) - low) * rstd * weight[i] + bias[i];
  }
}

/// With g = dy * weight and xhat = (x - mean) * rstd,
///
///     dx = rstd * (g - mean(g) - xhat * mean(g * xhat)),
///     dweight += dy * xhat, dbias += dy
///
/// dx may be x.
template <typename T>
[[gnu::always_inline]] inline void layer_norm_backward_row(
    const T* dy,
    const T* x,
    const T* weight,
    RowMoments moments,
    T* dx,
    T* dweight,
    T* dbias,
    int64_t n) {
  const T high = moments.high<T>();
  const T low = moments.low<T>();
  const T rstd = static_cast<T>(moments.rstd);
  const auto sums = lane_sums<T, 2>(n, [=](int64_t i, T& of_g, T& of_gx) {
    const T g = dy[i] * weight[i];
    of_g += g;
    of_gx += g * (((x[i] - high) - low) * rstd);
  });
  const T mean_g = static_cast<T>(sums[0] / static_cast<double>(n));
  const T mean_gx = static_cast<T>(sums[1] / static_cast<double>(n));
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const T xhat = ((x[i] - high) - low) * rstd;
    dweight[i] += dy[i] * xhat;
    dbias[i] += dy[i];
    dx[i] = rstd * (dy[i] * weight[i] - mean_g - xhat * mean_gx);
  }
}

}  // namespace heed
