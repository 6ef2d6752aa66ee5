#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "tensor/lanes.h"
#include "tensor/simd_register.h"
#include "tensor/transpose_rows.h"
#include "tensor/vector_math.h"

/// What attention does to a tile of scores, one function a step; to be called
/// through simd::call.
///
/// Tiles lie [keys, lanes], one query a lane: maxima and sums over the keys
/// need no work across lanes, and neither k nor v has to be transposed. There
/// are 16 or 32 lanes.
namespace heed::detail {

inline constexpr int64_t kTileLanes = 16;  // at a time
inline constexpr int64_t kMaxLanes = 32;

/// s [n] = scale q . k_j for the n rows k_j of k [n, width]: the scores of one
/// query alone.
template <typename T, int kBytes>
void score_row(
    const T* q,
    const T* k,
    int64_t row,
    int64_t n,
    int64_t width,
    T scale,
    T* s) {
  using Register = simd::Register<T, kBytes>;
  using Vector = typename Register::Value;
  using InMemory = typename Register::InMemory;
  constexpr int64_t kCount = Register::kCount;
  constexpr std::make_index_sequence<kCount> kAll;
  const int64_t whole = width - width % kCount;
  for (int64_t j = 0; j < n; j += kCount) {
    const int64_t keys = std::min(kCount, n - j);
    const T* const key = k + j * row;
    Vector sums[kCount];
#pragma GCC unroll 16
    for (int64_t i = 0; i < kCount; ++i) {
      sums[i] = Vector{};
    }
    for (int64_t d = 0; d < whole; d += kCount) {
      const Vector x = *reinterpret_cast<const InMemory*>(q + d);
#pragma GCC unroll 16
      for (int64_t i = 0; i < kCount; ++i) {
        const T* const y = key + std::min(i, keys - 1) * row + d;
        sums[i] += x * *reinterpret_cast<const InMemory*>(y);
      }
    }
    // Element i of the last one left is the sum over the i-th.
#pragma GCC unroll 4
    for (int64_t left = kCount / 2; left > 0; left /= 2) {
#pragma GCC unroll 8
      for (int64_t i = 0; i < left; ++i) {
        Vector even;
        Vector odd;
        interleave<0>(sums[i], sums[i + left], even, kAll);
        interleave<1>(sums[i], sums[i + left], odd, kAll);
        sums[i] = even + odd;
      }
    }
    T out[kCount];
    *reinterpret_cast<InMemory*>(out) = sums[0];
    for (int64_t i = 0; i < keys; ++i) {
      for (int64_t d = whole; d < width; ++d) {
        out[i] += q[d] * key[i * row + d];
      }
      s[j + i] = scale * out[i];
    }
  }
}

/// s becomes exp(s - row_max), with `row_max` the largest of the row and
/// `inverse_sum` 1 over the sum; of a row without visible keys 0, 0 and 0.
template <typename T>
void softmax_alone(T* s, int64_t n, T* row_max, T* inverse_sum) {
  const T largest = lane_max(s, n);
  const T shift =
      largest == -std::numeric_limits<T>::infinity() ? T(0) : largest;
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) {
    s[j] = vector_math::exp_up_to_40(s[j] - shift);
  }
  const double total = lane_sum(
      n, [s](int64_t j) __attribute__((always_inline)) { return s[j]; });
  *row_max = shift;
  *inverse_sum = total == 0 ? T(0) : static_cast<T>(1 / total);
}

/// Of each query so far.
template <typename T>
struct Running {
  alignas(64) T row_max[kMaxLanes];  // largest score
  alignas(64) T total[kMaxLanes];    // sum of exp(score - row_max)
  alignas(64) T rescale[kMaxLanes];  // what sums so far are to be times
};

/// One more tile of scores: s becomes exp(s - row_max).
template <typename T>
void softmax_tile(T* s, int64_t keys, int64_t lanes, Running<T>* running) {
  for (int64_t c = 0; c < lanes; c += kTileLanes) {
    T* const row_max = running->row_max + c;
    T* const total = running->total + c;
    T* const rescale = running->rescale + c;
    T now[kTileLanes];
    for (int64_t l = 0; l < kTileLanes; ++l) {
      now[l] = row_max[l];
    }
    for (int64_t r = 0; r < keys; ++r) {
      const T* const x = s + r * lanes + c;
#pragma omp simd
      for (int64_t l = 0; l < kTileLanes; ++l) {
        now[l] = x[l] > now[l] ? x[l] : now[l];
      }
    }
    T shift[kTileLanes];
#pragma omp simd
    for (int64_t l = 0; l < kTileLanes; ++l) {
      // -inf - -inf would be NaN where no key was seen yet.
      shift[l] = now[l] == -std::numeric_limits<T>::infinity() ? T(0) : now[l];
      rescale[l] = vector_math::exp_up_to_40(row_max[l] - shift[l]);
      row_max[l] = now[l];
    }
    for (int64_t r = 0; r < keys; ++r) {
      T* const x = s + r * lanes + c;
#pragma omp simd
      for (int64_t l = 0; l < kTileLanes; ++l) {
        x[l] = vector_math::exp_up_to_40(x[l] - shift[l]);
      }
    }
    T sum[kTileLanes] = {};
    for (int64_t r = 0; r < keys; ++r) {
      const T* const x = s + r * lanes + c;
#pragma omp simd
      for (int64_t l = 0; l < kTileLanes; ++l) {
        sum[l] += x[l];
      }
    }
#pragma omp simd
    for (int64_t l = 0; l < kTileLanes; ++l) {
      total[l] = total[l] * rescale[l] + sum[l];
    }
  }
}

/// Scores s become weights, given what forward said of each query.
template <typename T>
void weights_tile(
    T* s, int64_t keys, int64_t lanes, const T* row_max, const T* inverse_sum) {
  for (int64_t r = 0; r < keys; ++r) {
    for (int64_t c = 0; c < lanes; c += kTileLanes) {
      T* const x = s + r * lanes + c;
#pragma omp simd
      for (int64_t l = 0; l < kTileLanes; ++l) {
        x[l] = vector_math::exp(x[l] - row_max[c + l]) * inverse_sum[c + l];
      }
    }
  }
}

/// ds = scale p * (g - delta), delta = sum(p * g); over p.
template <typename T>
void score_gradients_tile(
    T* p, const T* g, int64_t keys, int64_t lanes, const T* delta, T scale) {
  for (int64_t r = 0; r < keys; ++r) {
    for (int64_t c = 0; c < lanes; c += kTileLanes) {
      T* const x = p + r * lanes + c;
      const T* const y = g + r * lanes + c;
#pragma omp simd
      for (int64_t l = 0; l < kTileLanes; ++l) {
        x[l] = scale * x[l] * (y[l] - delta[c + l]);
      }
    }
  }
}

/// y = scale x where bit r of a lane is set in `kept`, [keys / 32, kMaxLanes],
/// else 0.
template <typename T>
void drop_tile(
    const T* x,
    T* y,
    int64_t keys,
    int64_t lanes,
    const uint32_t* kept,
    T scale) {
  for (int64_t r = 0; r < keys; ++r) {
    const uint32_t bit = uint32_t{1} << r % 32;
    for (int64_t c = 0; c < lanes; c += kTileLanes) {
      const uint32_t* const words = kept + r / 32 * kMaxLanes + c;
      const T* const from = x + r * lanes + c;
      T* const to = y + r * lanes + c;
#pragma omp simd
      for (int64_t l = 0; l < kTileLanes; ++l) {
        to[l] = (words[l] & bit) != 0 ? scale * from[l] : T(0);
      }
    }
  }
}

/// y [n, width] *= factor [n], row by row.
template <typename T>
void scale_rows(T* y, int64_t row, int64_t n, int64_t width, const T* factor) {
  for (int64_t q = 0; q < n; ++q) {
    const T f = factor[q];
#pragma omp simd
    for (int64_t d = 0; d < width; ++d) {
      y[q * row + d] *= f;
    }
  }
}

/// sums [n]: of a * b over each row of width elements.
template <typename T>
void dot_rows(
    const T* a,
    int64_t a_row,
    const T* b,
    int64_t b_row,
    int64_t n,
    int64_t width,
    T* sums) {
  for (int64_t q = 0; q < n; ++q) {
    const T* const x = a + q * a_row;
    const T* const y = b + q * b_row;
    sums[q] = static_cast<T>(lane_sum(
        width, [=](int64_t d) __attribute__((always_inline)) {
          return x[d] * y[d];
        }));
  }
}

}  // namespace heed::detail
