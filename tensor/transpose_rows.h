#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "tensor/simd_register.h"

namespace heed {

namespace detail {

/// a0 b0 a1 b1 ..., its first half (kHalf = 0) or its second.
template <int kHalf, typename Vector, size_t... I>
[[gnu::always_inline]] inline void interleave(
    const Vector& a, const Vector& b, Vector& y, std::index_sequence<I...>) {
  constexpr size_t kCount = sizeof...(I);
  y = __builtin_shufflevector(
      a, b, (kHalf * kCount / 2 + I / 2 + I % 2 * kCount)...);
}

/// y = scale x^T for a square of as many rows as a register has numbers; rows
/// from the `last` on repeat it.
template <typename T, int kBytes>
[[gnu::always_inline]] inline void transpose_square(
    const T* x, int64_t x_row, int64_t last, T scale, T* y, int64_t y_row) {
  using Register = simd::Register<T, kBytes>;
  using Vector = typename Register::Value;
  using InMemory = typename Register::InMemory;
  constexpr int64_t kCount = Register::kCount;
  constexpr std::make_index_sequence<kCount> kAll;
  Vector rows[kCount];
#pragma GCC unroll 16
  for (int64_t i = 0; i < kCount; ++i) {
    const T* const row = x + (i < last ? i : last) * x_row;
    rows[i] = scale * *reinterpret_cast<const InMemory*>(row);
  }
  // Interleaving the halves log2(kCount) times brings element j of row i to
  // element i of row j.
#pragma GCC unroll 4
  for (int64_t done = 1; done < kCount; done *= 2) {
    Vector next[kCount];
#pragma GCC unroll 16
    for (int64_t i = 0; i < kCount / 2; ++i) {
      const Vector& a = rows[i];
      const Vector& b = rows[i + kCount / 2];
      interleave<0>(a, b, next[2 * i], kAll);
      interleave<1>(a, b, next[2 * i + 1], kAll);
    }
#pragma GCC unroll 16
    for (int64_t i = 0; i < kCount; ++i) {
      rows[i] = next[i];
    }
  }
#pragma GCC unroll 16
  for (int64_t i = 0; i < kCount; ++i) {
    *reinterpret_cast<InMemory*>(y + i * y_row) = rows[i];
  }
}

}  // namespace detail

/// y [width, lanes] = scale x^T for x [n, width], 0 < n <= lanes. Lanes from n
/// on repeat the last row. `row` and `y_row` lead from one row to the next.
template <typename T, int kBytes>
void transpose_rows(
    const T* x,
    int64_t row,
    int64_t n,
    int64_t width,
    int64_t lanes,
    T scale,
    T* y,
    int64_t y_row) {
  constexpr int64_t kCount = simd::Register<T, kBytes>::kCount;
  const int64_t whole = width - width % kCount;
  for (int64_t q = 0; q < lanes; q += kCount) {
    const int64_t first = std::min(q, n - 1);
    for (int64_t d = 0; d < whole; d += kCount) {
      detail::transpose_square<T, kBytes>(
          x + first * row + d,
          row,
          n - 1 - first,
          scale,
          y + d * y_row + q,
          y_row);
    }
  }
  for (int64_t d = whole; d < width; ++d) {
    for (int64_t q = 0; q < lanes; ++q) {
      y[d * y_row + q] = scale * x[std::min(q, n - 1) * row + d];
    }
  }
}

}  // namespace heed
