#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace heed {

// A reduction is given by an Op:
//
//     using In, Acc, Out;                 elements, running result, result
//     Acc start() const;                  result of no elements
//     Acc step(Acc, In, int64_t i) const; takes in element i
//     Acc merge(Acc, Acc) const;          of an earlier and a later part
//     Out finish(Acc) const;
//
// Work is cut into blocks by size alone and merged in a fixed order, so the
// bits of a result do not depend on the number of threads.

/// An array [outer, count, inner] to be reduced over `count`. Elements of inner
/// are adjacent; without inner, those of count are.
struct ReduceWindow {
  int64_t outer = 1;
  int64_t count = 1;
  int64_t inner = 1;
  int64_t outer_stride = 0;
  int64_t count_stride = 0;
};

/// x seen as a window whose `count` is dimensions first .. last - 1, if its
/// strides allow that.
std::optional<ReduceWindow> reduce_window(
    const Tensor& x, int64_t first, int64_t last);

/// The dimensions of x, outermost in memory first.
Dims memory_order(const Tensor& x);

/// The number of elements that reducing `dims` (normalised) folds into one.
int64_t reduced_count(const Shape& shape, const Dims& dims);

namespace detail {

inline constexpr int64_t kReduceBlock = 32768;  // elements reduced in one go
inline constexpr int64_t kReduceWidth = 512;    // columns reduced side by side
inline constexpr int64_t kReduceLanes = 16;     // running results in a row

/// Reduces what an Op left unfinished.
template <typename Op>
struct MergeOp {
  using In = typename Op::Acc;
  using Acc = typename Op::Acc;
  using Out = typename Op::Out;
  Acc start() const { return op.start(); }
  Acc step(Acc a, In b, int64_t) const { return op.merge(a, b); }
  Acc merge(Acc a, Acc b) const { return op.merge(a, b); }
  Out finish(Acc a) const { return op.finish(a); }

  Op op;
};

template <typename Op>
MergeOp<Op> merging(const Op& op) {
  return {op};
}
template <typename Op>
MergeOp<Op> merging(const MergeOp<Op>& op) {
  return op;
}

/// An Op that stops at its running result.
template <typename Op>
struct Unfinished : Op {
  using Out = typename Op::Acc;
  Out finish(typename Op::Acc a) const { return a; }
};

/// Elements begin .. end - 1 of a row of adjacent ones.
template <typename Op>
typename Op::Acc reduce_row(
    const Op& op, const typename Op::In* x, int64_t begin, int64_t end) {
  if (end - begin < 2 * kReduceLanes) {
    typename Op::Acc acc = op.start();
    for (int64_t i = begin; i < end; ++i) {
      acc = op.step(acc, x[i], i);
    }
    return acc;
  }
  typename Op::Acc lanes[kReduceLanes];
  std::fill_n(lanes, kReduceLanes, op.start());
  int64_t i = begin;
  for (; i + kReduceLanes <= end; i += kReduceLanes) {
#pragma omp simd
    for (int64_t k = 0; k < kReduceLanes; ++k) {
      lanes[k] = op.step(lanes[k], x[i + k], i + k);
    }
  }
  for (int64_t k = 0; i + k < end; ++k) {
    lanes[k] = op.step(lanes[k], x[i + k], i + k);
  }
  for (int64_t half = kReduceLanes / 2; half > 0; half /= 2) {
    for (int64_t k = 0; k < half; ++k) {
      lanes[k] = op.merge(lanes[k], lanes[k + half]);
    }
  }
  return lanes[0];
}

/// Rows begin .. end - 1, `stride` apart, of `width` columns into acc [width].
template <typename Op>
void reduce_columns(
    const Op& op,
    const typename Op::In* x,
    int64_t stride,
    int64_t begin,
    int64_t end,
    int64_t width,
    typename Op::Acc* acc) {
  std::fill_n(acc, width, op.start());
  int64_t i = begin;
  for (; i + 4 <= end; i += 4) {
    const typename Op::In* const a = x + i * stride;
    const typename Op::In* const b = a + stride;
    const typename Op::In* const c = b + stride;
    const typename Op::In* const d = c + stride;
#pragma omp simd
    for (int64_t j = 0; j < width; ++j) {
      acc[j] = op.step(
          op.step(op.step(op.step(acc[j], a[j], i), b[j], i + 1), c[j], i + 2),
          d[j],
          i + 3);
    }
  }
  for (; i < end; ++i) {
    const typename Op::In* const a = x + i * stride;
#pragma omp simd
    for (int64_t j = 0; j < width; ++j) {
      acc[j] = op.step(acc[j], a[j], i);
    }
  }
}

/// Reduces every block of the window: [outer, count, inner] into `out`
/// [outer, blocks, inner] of what `op` finishes, `rows` of count a block.
template <typename Op>
void reduce_blocks(
    const Op& op,
    const typename Op::In* x,
    const ReduceWindow& w,
    int64_t rows,
    int64_t blocks,
    typename Op::Out* out) {
  const int64_t width = std::min(w.inner, kReduceWidth);
  const int64_t chunks = (w.inner + width - 1) / width;
  const int64_t cost = std::min(rows, w.count) * width;
  heed::parallel_for(
      w.outer * blocks * chunks,
      grain_for(cost),
      [&](int64_t item, int64_t end) {
        typename Op::Acc acc[kReduceWidth];
        for (; item < end; ++item) {
          const int64_t row = item / chunks;  // of [outer, blocks]
          const int64_t column = item % chunks * width;
          const int64_t n = std::min(width, w.inner - column);
          const int64_t from = row % blocks * rows;
          const int64_t to = std::min(from + rows, w.count);
          const auto* start = x + row / blocks * w.outer_stride + column;
          if (w.inner == 1) {
            out[row] = op.finish(reduce_row(op, start, from, to));
          } else {
            reduce_columns(op, start, w.count_stride, from, to, n, acc);
            auto* y = out + row * w.inner + column;
            for (int64_t j = 0; j < n; ++j) {
              y[j] = op.finish(acc[j]);
            }
          }
        }
      });
}

/// [outer, count, inner] into out [outer, inner].
template <typename Op>
void reduce_window_into(
    const Op& op,
    const typename Op::In* x,
    const ReduceWindow& w,
    typename Op::Out* out) {
  if (w.outer == 0 || w.inner == 0) {
    return;
  }
  const int64_t rows = kReduceBlock / std::min(w.inner, kReduceWidth);
  const int64_t blocks =
      std::max<int64_t>(1, w.count / rows + (w.count % rows != 0));
  if (blocks == 1) {
    reduce_blocks(op, x, w, rows, blocks, out);
    return;
  }
  using Acc = typename Op::Acc;
  const std::unique_ptr<Acc[]> parts(new Acc[w.outer * blocks * w.inner]);
  reduce_blocks(Unfinished<Op>{op}, x, w, rows, blocks, parts.get());
  reduce_window_into(
      merging(op),
      parts.get(),
      {w.outer, blocks, w.inner, blocks * w.inner, w.inner},
      out);
}

/// Reduces the dimensions first .. last - 1 of x to size 1.
template <typename Op>
Tensor reduce_run(const Op& op, const Tensor& x, int64_t first, int64_t last) {
  Dims run;
  for (int64_t d = first; d < last; ++d) {
    run.push_back(d);
  }
  Tensor y(reduced_shape(x.shape(), run, true), dtype_of<typename Op::Out>);
  std::optional<ReduceWindow> window = reduce_window(x, first, last);
  const Tensor dense = window ? x : x.contiguous();
  if (!window) {
    window = reduce_window(dense, first, last);
  }
  reduce_window_into(
      op,
      dense.data<typename Op::In>(),
      *window,
      y.mutable_data<typename Op::Out>());
  return y;
}

/// Reduces the marked dimensions of x to size 1, one run of neighbours after
/// the other, the last one first.
template <typename Op>
Tensor reduce_marked(const Op& op, const Tensor& x, Dims marked) {
  int64_t last = x.dim();
  while (last > 0 && !marked[last - 1]) {
    --last;
  }
  int64_t first = last;
  while (first > 0 && (marked[first - 1] || x.shape()[first - 1] == 1)) {
    marked[--first] = 0;
  }
  if (std::find(marked.begin(), marked.end(), 1) == marked.end()) {
    return reduce_run(op, x, first, last);
  }
  return reduce_marked(
      merging(op), reduce_run(Unfinished<Op>{op}, x, first, last), marked);
}

}  // namespace detail

/// x reduced over one dimension (normalised), which disappears unless keepdim.
/// The op sees each element's index along it.
template <typename Op>
Tensor reduce_dim(const Op& op, const Tensor& x, int64_t dim, bool keepdim) {
  const Tensor y = detail::reduce_run(op, x, dim, dim + 1);
  return y.reshape(reduced_shape(x.shape(), {dim}, keepdim));
}

/// x reduced over `dims` (normalised), elements taken in any order that its
/// shape and strides decide. Op::Acc must be an element type.
template <typename Op>
Tensor reduce(const Op& op, const Tensor& x, const Dims& dims, bool keepdim) {
  const Shape shape = reduced_shape(x.shape(), dims, keepdim);
  Dims marked;
  if (x.is_contiguous()) {
    for (int64_t d = 0; d < x.dim(); ++d) {
      marked.push_back(dims.contains(d));
    }
    return detail::reduce_marked(op, x, marked).reshape(shape);
  }
  const Dims order = memory_order(x);
  Dims inverse = order;
  for (int64_t d = 0; d < x.dim(); ++d) {
    marked.push_back(dims.contains(order[d]));
  }
  for (int64_t d = 0; d < x.dim(); ++d) {
    inverse[order[d]] = d;
  }
  const Tensor y = detail::reduce_marked(op, x.permute(order), marked);
  return y.permute(inverse).reshape(shape).contiguous();
}

}  // namespace heed
