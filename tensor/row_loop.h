#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "tensor/parallel.h"
#include "tensor/shape.h"

namespace heed {

namespace detail {

/// x [n, count], its rows `stride` apart, to columns [count, n], these `pitch`
/// apart.
template <typename T>
void gather_columns(
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
void scatter_columns(
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

}  // namespace detail

/// Calls row(in, out) for every line of elements along `dim` (normalised) of N
/// dense arrays and a dense result of one shape. In the call a line is a row of
/// shape[dim] adjacent elements: along another dimension than the last, 16
/// lines at a time are copied there and back, so that memory is still read in
/// order. `cost` counts simple operations an element, as in StridedLoop::run.
template <typename T, size_t N, typename F>
void row_loop(
    const Shape& shape,
    int64_t dim,
    const std::array<const T*, N>& in,
    T* out,
    int64_t cost,
    const F& row) {
  const int64_t n = shape[dim];
  int64_t inner = 1;
  for (int64_t d = dim + 1; d < shape.size(); ++d) {
    inner *= shape[d];
  }
  if (shape.numel() == 0) {
    return;
  }
  const int64_t outer = shape.numel() / (n * inner);
  if (inner == 1) {
    parallel_for(outer, grain_for(n * cost), [&](int64_t i, int64_t end) {
      for (; i < end; ++i) {
        std::array<const T*, N> from = in;
        for (const T*& x : from) {
          x += i * n;
        }
        row(from, out + i * n);
      }
    });
    return;
  }
  constexpr int64_t kLines = 16;
  const int64_t width = std::min(inner, kLines);
  const int64_t chunks = (inner + width - 1) / width;
  const int64_t grain = grain_for(n * width * (cost + 2));
  // Columns a power of two apart would fight for the same cache lines.
  const int64_t pitch = n + 16;
  parallel_for(outer * chunks, grain, [&](int64_t item, int64_t end) {
    const int64_t lines = pitch * width;
    const std::unique_ptr<T[]> scratch(new T[(N + 1) * lines]);
    T* const result = scratch.get() + N * lines;
    for (; item < end; ++item) {
      const int64_t column = item % chunks * width;
      const int64_t offset = item / chunks * n * inner + column;
      const int64_t count = std::min(width, inner - column);
      for (size_t k = 0; k < N; ++k) {
        detail::gather_columns(
            in[k] + offset, inner, n, count, scratch.get() + k * lines, pitch);
      }
      for (int64_t j = 0; j < count; ++j) {
        std::array<const T*, N> from;
        for (size_t k = 0; k < N; ++k) {
          from[k] = scratch.get() + k * lines + j * pitch;
        }
        row(from, result + j * pitch);
      }
      detail::scatter_columns(result, pitch, n, count, out + offset, inner);
    }
  });
}

}  // namespace heed
