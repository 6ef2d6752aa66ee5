#pragma once

#include <algorithm>
#include <numbers>
#include <type_traits>

#include "tensor/activation.h"
#include "tensor/vector_math.h"

namespace heed::detail {

// gelu of one number and its derivative, for kernels that are called through
// simd::call.

template <typename T>
inline constexpr T kInverseSqrt2 = std::numbers::sqrt2_v<T> / 2;
/// 2 sqrt(2 / pi)
template <typename T>
inline constexpr T kTwoSqrt2OverPi =
    2 * std::numbers::sqrt2_v<T>* std::numbers::inv_sqrtpi_v<T>;
/// As Hendrycks and Gimpel give it.
template <typename T>
inline constexpr T kGeluCubic = T(0.044715);

/// The normal distribution function.
template <typename T>
[[gnu::always_inline]] inline T normal_cdf(T x) {
  return T(0.5) * (1 + vector_math::erf(x * kInverseSqrt2<T>));
}

/// What Hendrycks and Gimpel take for it: with u = sqrt(2 / pi) (x + c x^3),
/// (1 + tanh(u)) / 2 = sigmoid(2 u), which does not cancel for u < 0.
template <typename T>
[[gnu::always_inline]] inline T normal_cdf_by_tanh(T x, T square) {
  return vector_math::sigmoid(
      kTwoSqrt2OverPi<T> * (x + kGeluCubic<T> * square * x));
}

template <GeluApproximation kApproximation, typename T>
[[gnu::always_inline]] inline T gelu(T x) {
  if constexpr (kApproximation == GeluApproximation::none) {
    return x * normal_cdf(x);
  } else {
    return x * normal_cdf_by_tanh(x, x * x);
  }
}

template <GeluApproximation kApproximation, typename T>
[[gnu::always_inline]] inline T gelu_slope(T x) {
  if constexpr (kApproximation == GeluApproximation::none) {
    // P(x) + x p(x)
    constexpr T kDensityAt0 = kTwoSqrt2OverPi<T> / 4;
    const T density = kDensityAt0 * vector_math::exp(T(-0.5) * x * x);
    return normal_cdf(x) + x * density;
  } else {
    // s + x s (1 - s) (2 u)'. Farther out the slope is 0 or 1, and a larger
    // square only overflows.
    const T square = std::min(x * x, T(400));
    const T s = normal_cdf_by_tanh(x, square);
    return s + x * s * (1 - s) *
                   (kTwoSqrt2OverPi<T> * (1 + 3 * kGeluCubic<T> * square));
  }
}

/// f of the constant that stands for `approximation`.
template <typename F>
auto visit_gelu(GeluApproximation approximation, const F& f) {
  using enum GeluApproximation;
  return approximation == none
             ? f(std::integral_constant<GeluApproximation, none>{})
             : f(std::integral_constant<GeluApproximation, tanh>{});
}

}  // namespace heed::detail
