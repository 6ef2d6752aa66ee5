#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "tensor/lanes.h"
#include "tensor/parallel.h"
#include "tensor/reduce_window.h"
#include "tensor/simd.h"
#include "tensor/tensor.h"

namespace heed {

// A reduction is given by an Op:
//
//     using In, Acc, Out;                 elements, running result, result
//     Acc start() const;                  result of no elements
//     Acc step(Acc, In, int64_t i) const; takes in element i
//     Acc merge(Acc, Acc) const;          of an earlier and a later part
//     Out finish(Acc) const;
//     static constexpr bool kMergesItself; optional: whether step is merge
//
// Work is cut into blocks by size alone and merged in a fixed order, so the
// bits of a result do not depend on the number of threads. float32 is reduced
// at the SIMD level in use.

namespace detail {

inline constexpr int64_t kReduceBlock = 32768;  // elements reduced in one go
inline constexpr int64_t kReduceWidth = 512;    // columns reduced side by side

/// Reduces running results of an Op.
template <typename Op>
struct MergeOp {
  using In = typename Op::Acc;
  using Acc = typename Op::Acc;
  using Out = typename Op::Out;
  static constexpr bool kMergesItself = true;
  Acc start() const { return op.start(); }
  Acc step(Acc a, In b, int64_t) const { return op.merge(a, b); }
  Acc merge(Acc a, Acc b) const { return op.merge(a, b); }
  Out finish(Acc a) const { return op.finish(a); }

  Op op;
};

template <typename Op>
auto merging(const Op& op) {
  if constexpr (requires { requires Op::kMergesItself; }) {
    return op;
  } else {
    return MergeOp<Op>{op};
  }
}

/// Where results go: one of the two is null.
template <typename Op>
struct ReduceTarget {
  typename Op::Out* finished;
  typename Op::Acc* running;
};

/// Elements begin .. end - 1 of a row of adjacent ones.
template <typename Op>
[[gnu::always_inline]] inline typename Op::Acc reduce_row(
    const Op& op, const typename Op::In* x, int64_t begin, int64_t end) {
  using Acc = typename Op::Acc;
  return lane_fold(
      end - begin,
      op.start(),
      [&](const Acc& acc, int64_t i) {
        return op.step(acc, x[begin + i], begin + i);
      },
      [&](const Acc& a, const Acc& b) { return op.merge(a, b); });
}

/// Rows begin .. end - 1, `stride` apart, of `width` columns into acc [width].
template <typename Op>
[[gnu::always_inline]] inline void reduce_columns(
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
    const auto* const a = x + i * stride;
    const auto* const b = a + stride;
    const auto* const c = b + stride;
    const auto* const d = c + stride;
#pragma omp simd
    for (int64_t j = 0; j < width; ++j) {
      acc[j] = op.step(
          op.step(op.step(op.step(acc[j], a[j], i), b[j], i + 1), c[j], i + 2),
          d[j],
          i + 3);
    }
  }
  for (; i < end; ++i) {
    const auto* const a = x + i * stride;
#pragma omp simd
    for (int64_t j = 0; j < width; ++j) {
      acc[j] = op.step(acc[j], a[j], i);
    }
  }
}

/// A window cut into items [outer, blocks, chunks]: blocks of `rows` rows and
/// chunks of `width` columns; the last ones may hold less.
struct ReduceCut {
  explicit ReduceCut(const ReduceWindow& w)
      : window(w),
        width(std::min(w.inner, kReduceWidth)),
        rows(kReduceBlock / width),
        blocks(std::max<int64_t>(1, (w.count - 1) / rows + 1)),
        chunks((w.inner - 1) / width + 1) {}

  ReduceWindow window;
  int64_t width;
  int64_t rows;
  int64_t blocks;
  int64_t chunks;
};

/// Items first .. last - 1 of a window without inner into a target [outer,
/// blocks].
template <typename Op>
inline void reduce_row_items(
    Op op,
    const typename Op::In* x,
    ReduceCut cut,
    ReduceTarget<Op> target,
    int64_t first,
    int64_t last) {
  const ReduceWindow& w = cut.window;
  int64_t block = first % cut.blocks;
  int64_t outer = first / cut.blocks;
  for (int64_t item = first; item < last; ++item) {
    const int64_t begin = block * cut.rows;
    const int64_t end = std::min(begin + cut.rows, w.count);
    const auto result = reduce_row(op, x + outer * w.outer_stride, begin, end);
    if (target.running != nullptr) {
      target.running[item] = result;
    } else {
      target.finished[item] = op.finish(result);
    }
    if (++block == cut.blocks) {
      block = 0;
      ++outer;
    }
  }
}

/// Items first .. last - 1 into a target [outer, blocks, inner].
template <typename Op>
inline void reduce_column_items(
    Op op,
    const typename Op::In* x,
    ReduceCut cut,
    ReduceTarget<Op> target,
    int64_t first,
    int64_t last) {
  const ReduceWindow& w = cut.window;
  typename Op::Acc acc[kReduceWidth];
  int64_t chunk = first % cut.chunks;
  int64_t block = first / cut.chunks % cut.blocks;
  int64_t outer = first / cut.chunks / cut.blocks;
  for (int64_t item = first; item < last; ++item) {
    const int64_t begin = block * cut.rows;
    const int64_t end = std::min(begin + cut.rows, w.count);
    const int64_t column = chunk * cut.width;
    const int64_t n = std::min(cut.width, w.inner - column);
    const auto* from = x + outer * w.outer_stride + column;
    const int64_t to = (outer * cut.blocks + block) * w.inner + column;
    reduce_columns(op, from, w.count_stride, begin, end, n, acc);
    if (target.running != nullptr) {
      std::copy_n(acc, n, target.running + to);
    } else {
#pragma omp simd
      for (int64_t j = 0; j < n; ++j) {
        target.finished[to + j] = op.finish(acc[j]);
      }
    }
    if (++chunk == cut.chunks) {
      chunk = 0;
      if (++block == cut.blocks) {
        block = 0;
        ++outer;
      }
    }
  }
}

/// Reduces every block of the window into a target [outer, blocks, inner].
template <typename Op>
void reduce_blocks(
    const Op& op,
    const typename Op::In* x,
    const ReduceCut& cut,
    const ReduceTarget<Op>& target) {
  constexpr bool kWorth = std::is_same_v<typename Op::In, float>;
  const int64_t items = cut.window.outer * cut.blocks * cut.chunks;
  const int64_t cost = std::min(cut.rows, cut.window.count) * cut.width;
  parallel_for(items, grain_for(cost), [&](int64_t first, int64_t last) {
    if (cut.window.inner == 1) {
      simd::call_if<kWorth, reduce_row_items<Op>>(
          op, x, cut, target, first, last);
    } else {
      simd::call_if<kWorth, reduce_column_items<Op>>(
          op, x, cut, target, first, last);
    }
  });
}

/// [outer, count, inner] into a target [outer, inner].
template <typename Op>
void reduce_window_into(
    const Op& op,
    const typename Op::In* x,
    const ReduceWindow& w,
    const ReduceTarget<Op>& target) {
  if (w.outer == 0 || w.inner == 0) {
    return;
  }
  const ReduceCut cut(w);
  if (cut.blocks == 1) {
    reduce_blocks(op, x, cut, target);
    return;
  }
  using Acc = typename Op::Acc;
  const std::unique_ptr<Acc[]> parts(new Acc[w.outer * cut.blocks * w.inner]);
  reduce_blocks(op, x, cut, {nullptr, parts.get()});
  const auto rest = merging(op);
  reduce_window_into(
      rest,
      parts.get(),
      {w.outer, cut.blocks, w.inner, cut.blocks * w.inner, w.inner},
      {target.finished, target.running});
}

/// Reduces the dimensions first .. last - 1 of x to size 1; to running results
/// unless kFinish.
template <bool kFinish, typename Op>
Tensor reduce_run(const Op& op, const Tensor& x, int64_t first, int64_t last) {
  using Out = std::conditional_t<kFinish, typename Op::Out, typename Op::Acc>;
  const ReduceSource source(x, first, last);
  Tensor y(source.reduced, dtype_of<Out>);
  ReduceTarget<Op> target{};
  if constexpr (kFinish) {
    target.finished = y.mutable_data<Out>();
  } else {
    target.running = y.mutable_data<Out>();
  }
  reduce_window_into(
      op, source.elements.data<typename Op::In>(), source.window, target);
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
    return reduce_run<true>(op, x, first, last);
  }
  return reduce_marked(
      merging(op), reduce_run<false>(op, x, first, last), marked);
}

}  // namespace detail

/// x reduced over one dimension (normalised), which disappears unless keepdim.
/// The op sees each element's index along it.
template <typename Op>
Tensor reduce_dim(const Op& op, const Tensor& x, int64_t dim, bool keepdim) {
  const Tensor y = detail::reduce_run<true>(op, x, dim, dim + 1);
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
  const Dims order = dims_by_stride(x);
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
