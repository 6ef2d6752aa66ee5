#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace heed {

// Folds of a row in running results side by side, lanes, so that they become
// SIMD code without -ffast-math. The order depends on the row's length alone:
// not on its address, not on the CPU. All are forced inline: they are compiled
// for the level of the kernel they are part of.

/// Lanes of a fold whose running results are of type T.
template <typename T>
inline constexpr int64_t kLanes = sizeof(T) <= 4 ? 32 : 16;

namespace detail {

/// lanes[0], lanes[1], ... made one, halves upon each other.
template <int64_t kWidth, typename T, typename Merge>
[[gnu::always_inline]] inline T merge_lanes(T* lanes, const Merge& merge) {
  if constexpr (kWidth == 1) {
    return lanes[0];
  } else {
    constexpr int64_t kHalf = kWidth / 2;
#pragma omp simd
    for (int64_t k = 0; k < kHalf; ++k) {
      lanes[k] = merge(lanes[k], lanes[k + kHalf]);
    }
    return merge_lanes<kHalf>(lanes, merge);
  }
}

}  // namespace detail

/// Takes step(result, i) for i = 0 .. n - 1 from `start`, which is the result
/// of nothing, and merge(a, b) of an earlier and a later lane.
template <typename T, typename Step, typename Merge>
[[gnu::always_inline]] inline T lane_fold(
    int64_t n, const T& start, const Step& step, const Merge& merge) {
  constexpr int64_t kWidth = kLanes<T>;
  if (n < kWidth) {
    T result = start;
    for (int64_t i = 0; i < n; ++i) {
      result = step(result, i);
    }
    return result;
  }
  T lanes[kWidth];
#pragma omp simd
  for (int64_t k = 0; k < kWidth; ++k) {
    lanes[k] = start;
  }
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
#pragma omp simd
    for (int64_t k = 0; k < kWidth; ++k) {
      lanes[k] = step(lanes[k], i + k);
    }
  }
  for (int64_t k = 0; i + k < n; ++k) {
    lanes[k] = step(lanes[k], i + k);
  }
  return detail::merge_lanes<kWidth>(lanes, merge);
}

/// Several sums over i = 0 .. n - 1: f(i, a, b, ...), called once for each i,
/// adds its terms to the kCount numbers a, b, ... of type T, and may also write
/// something down.
///
/// Up to 32 float32 numbers are added up in float32, in each lane, and the rest
/// in float64: the error of a sum is below 2^-24 * 37 of the sum of absolute
/// values, however long the row.
template <typename T, size_t kCount, typename F>
[[gnu::always_inline]] inline std::array<double, kCount> lane_sums(
    int64_t n, const F& f) {
  constexpr int64_t kWidth = kLanes<T>;
  constexpr int64_t kBlock = 32 * kWidth;
  const auto add = [&]<size_t... J>(
      int64_t i, T(*sums)[kWidth], int64_t k, std::index_sequence<J...>) {
    f(i, sums[J][k]...);
  };
  constexpr auto kAll = std::make_index_sequence<kCount>();
  std::array<double, kCount> totals{};
  const int64_t whole = n - n % kWidth;
  for (int64_t begin = 0; begin < whole; begin += kBlock) {
    T lanes[kCount][kWidth];
    for (size_t j = 0; j < kCount; ++j) {
#pragma omp simd
      for (int64_t k = 0; k < kWidth; ++k) {
        lanes[j][k] = -T(0);  // -0 + x is x, whatever x
      }
    }
    const int64_t end = begin + kBlock < whole ? begin + kBlock : whole;
    int64_t i = begin;
    for (; i < end; i += kWidth) {
#pragma omp simd
      for (int64_t k = 0; k < kWidth; ++k) {
        add(i + k, lanes, k, kAll);
      }
    }
    for (size_t j = 0; j < kCount; ++j) {
      totals[j] += static_cast<double>(detail::merge_lanes<kWidth>(
          lanes[j], [](T a, T b) { return a + b; }));
    }
  }
  if (whole < n) {
    T rest[kCount][kWidth] = {};
    for (int64_t i = whole; i < n; ++i) {
      add(i, rest, 0, kAll);
    }
    for (size_t j = 0; j < kCount; ++j) {
      totals[j] += static_cast<double>(rest[j][0]);
    }
  }
  return totals;
}

/// f(0) + ... + f(n - 1), as lane_sums.
template <typename F>
[[gnu::always_inline]] inline double lane_sum(int64_t n, const F& f) {
  using T = decltype(f(int64_t{0}));
  return lane_sums<T, 1>(n, [&f](int64_t i, T& sum) { sum += f(i); })[0];
}

/// The largest of x[0] .. x[n - 1] that are numbers; -infinity of none.
template <typename T>
[[gnu::always_inline]] inline T lane_max(const T* x, int64_t n) {
  const auto larger = [](T a, T b) { return b > a ? b : a; };
  return lane_fold(
      n,
      -std::numeric_limits<T>::infinity(),
      [=](T most, int64_t i) { return larger(most, x[i]); },
      larger);
}

}  // namespace heed
