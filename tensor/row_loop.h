#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "tensor/ceil_div.h"
#include "tensor/parallel.h"
#include "tensor/shape.h"
#include "tensor/simd.h"

namespace heed {

namespace detail {

/// row(in[0], in[1], ..., out, n) with all of `in` and `out` moved on by
/// `offset` elements.
template <typename T, size_t N, typename Row>
[[gnu::always_inline]] inline void run_row(
    const std::array<const T*, N>& in,
    T* out,
    int64_t offset,
    int64_t n,
    const Row& row) {
  [&]<size_t... K>(std::index_sequence<K...>) {
    row((in[K] + offset)..., out + offset, n);
  }
  (std::make_index_sequence<N>());
}

/// `rows` rows of n elements, one after the other.
template <typename T, size_t N, typename Row>
inline void run_rows(
    std::array<const T*, N> in, T* out, int64_t n, int64_t rows, Row row) {
  for (int64_t i = 0; i < rows; ++i) {
    run_row(in, out, i * n, n, row);
  }
}

/// x [n, count], its rows `stride` apart, to columns [count, n], these `pitch`
/// apart.
template <typename T>
inline void gather_columns(
    const T* x,
    int64_t stride,
    int64_t n,
    int64_t count,
    T* columns,
    int64_t pitch) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < count; ++j) {
      columns[j * pitch + i] = x[i * stride + j];
    }
  }
}

/// The way back.
template <typename T>
inline void scatter_columns(
    const T* columns,
    int64_t pitch,
    int64_t n,
    int64_t count,
    T* y,
    int64_t stride) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < count; ++j) {
      y[i * stride + j] = columns[j * pitch + i];
    }
  }
}

/// `count` adjacent columns of n elements, these `stride` apart, by way of
/// scratch [N + 1, count, pitch].
template <typename T, size_t N, typename Row>
inline void run_columns(
    std::array<const T*, N> in,
    T* out,
    int64_t n,
    int64_t stride,
    int64_t count,
    T* scratch,
    int64_t pitch,
    Row row) {
  std::array<const T*, N> columns;
  for (size_t k = 0; k < N; ++k) {
    T* const to = scratch + static_cast<int64_t>(k) * count * pitch;
    gather_columns(in[k], stride, n, count, to, pitch);
    columns[k] = to;
  }
  T* const results = scratch + static_cast<int64_t>(N) * count * pitch;
  for (int64_t j = 0; j < count; ++j) {
    run_row(columns, results, j * pitch, n, row);
  }
  scatter_columns(results, pitch, n, count, out, stride);
}

}  // namespace detail

/// Calls row(x, ..., y, n) for every line of elements along `dim` (normalised)
/// of N dense arrays x, ... and a dense result y of one shape, at the SIMD
/// level in use. In the call a line is a row of n = shape[dim] adjacent
/// elements: along another dimension than the last, 16 lines at a time are
/// copied there and back, so that memory is still read in order. `cost` counts
/// simple operations an element, as in StridedLoop::run.
template <typename T, size_t N, typename Row>
void row_loop(
    const Shape& shape,
    int64_t dim,
    const std::array<const T*, N>& in,
    T* out,
    int64_t cost,
    const Row& row) {
  const int64_t n = shape[dim];
  int64_t inner = 1;
  for (int64_t d = dim + 1; d < shape.size(); ++d) {
    inner *= shape[d];
  }
  if (shape.numel() == 0) {
    return;
  }
  const int64_t outer = shape.numel() / (n * inner);
  const auto from = [&in](int64_t offset) {
    std::array<const T*, N> moved = in;
    for (const T*& x : moved) {
      x += offset;
    }
    return moved;
  };
  if (inner == 1) {
    parallel_for(outer, grain_for(n * cost), [&](int64_t i, int64_t end) {
      simd::call<detail::run_rows<T, N, Row>>(
          from(i * n), out + i * n, n, end - i, row);
    });
    return;
  }
  constexpr int64_t kLines = 16;
  const int64_t width = std::min(inner, kLines);
  const int64_t chunks = ceil_div(inner, width);
  const int64_t grain = grain_for(n * width * (cost + 2));
  // Columns a power of two apart would fight for the same cache lines.
  const int64_t pitch = n + 16;
  parallel_for(outer * chunks, grain, [&](int64_t item, int64_t end) {
    const std::unique_ptr<T[]> scratch(new T[(N + 1) * pitch * width]);
    for (; item < end; ++item) {
      const int64_t column = item % chunks * width;
      const int64_t offset = item / chunks * n * inner + column;
      simd::call<detail::run_columns<T, N, Row>>(
          from(offset),
          out + offset,
          n,
          inner,
          std::min(width, inner - column),
          scratch.get(),
          pitch,
          row);
    }
  });
}

}  // namespace heed
