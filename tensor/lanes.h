#pragma once

#include <cstdint>
#include <limits>

namespace heed {

// Folds of a row in 16 running results, side by side, so that they become SIMD
// code without -ffast-math. The order depends on n alone: not on the address
// of the row, not on the CPU.

inline constexpr int64_t kLanes = 16;

/// f(0) + ... + f(n - 1), added up in float64. f is called once for each i and
/// may also write something down.
template <typename F>
[[gnu::always_inline]] inline double lane_sum(int64_t n, const F& f) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (int64_t k = 0; k < kLanes; ++k) {
      lanes[k] += static_cast<double>(f(i + k));
    }
  }
  for (int64_t k = 0; i + k < n; ++k) {
    lanes[k] += static_cast<double>(f(i + k));
  }
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t k = 0; k < half; ++k) {
      lanes[k] += lanes[k + half];
    }
  }
  return lanes[0];
}

/// The largest of x[0] .. x[n - 1] that are numbers; -infinity of none.
template <typename T>
[[gnu::always_inline]] inline T lane_max(const T* x, int64_t n) {
  T lanes[kLanes];
  for (T& lane : lanes) {
    lane = -std::numeric_limits<T>::infinity();
  }
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (int64_t k = 0; k < kLanes; ++k) {
      lanes[k] = x[i + k] > lanes[k] ? x[i + k] : lanes[k];
    }
  }
  for (int64_t k = 0; i + k < n; ++k) {
    lanes[k] = x[i + k] > lanes[k] ? x[i + k] : lanes[k];
  }
  T most = lanes[0];
  for (const T lane : lanes) {
    most = lane > most ? lane : most;
  }
  return most;
}

}  // namespace heed
