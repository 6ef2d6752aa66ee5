#pragma once

#include "tensor/attention_scores.h"

namespace heed::detail {

/// What forward left and what backward is to find.
template <typename T>
struct AttentionGradients {
  HeadsView<const T> dy;
  HeadsView<const T> y;
  const T* most;     // [B, num_heads, T]
  const T* inverse;  // [B, num_heads, T]
  HeadsView<T> dq;
  HeadsView<T> dk;
  HeadsView<T> dv;
};

/// Clears the rows of dk and dv that the first of some blocks does not write.
template <typename T>
void clear_unwritten(
    const AttentionProblem<T>& a,
    int64_t b,
    int64_t h,
    int64_t first_block,
    const AttentionGradients<T>& g) {
  const int64_t seen =
      a.sizes.queries == 0 ? 0 : a.visible_keys(a.block(b, h, first_block));
  for (int64_t j = 0; j < a.sizes.keys; ++j) {
    if (j >= seen || a.is_padding(b, j)) {
      std::fill_n(g.dk.at(b, h, j), a.sizes.head_dim, T(0));
      std::fill_n(g.dv.at(b, h, j), a.sizes.value_dim, T(0));
    }
  }
}

/// Writes dq of the block, and writes or adds to dk and dv.
template <typename T>
void backward_block(
    const AttentionProblem<T>& a,
    const QueryBlock& block,
    bool adds,
    AttentionScratch<T>& scratch,
    const AttentionGradients<T>& g) {
  const int64_t b = block.b;
  const int64_t h = block.h;
  const int64_t first = block.first;
  const int64_t count = block.count;
  const int64_t lanes = block.lanes;
  const AttentionSizes& sizes = a.sizes;
  const T* const q = a.q.at(b, h, first);
  const T* const dy = g.dy.at(b, h, first);
  T* const dq = g.dq.at(b, h, first);
  transpose(q, a.q.row, block, sizes.head_dim, a.scale, scratch.q);
  transpose(dy, g.dy.row, block, sizes.value_dim, T(1), scratch.dy);
  if (a.drops()) {
    scratch.draw(a, block);
  }
  alignas(64) T most[kMaxLanes] = {};
  alignas(64) T inverse[kMaxLanes] = {};
  alignas(64) T mean[kMaxLanes] = {};
  const int64_t row = (b * sizes.heads + h) * sizes.queries + first;
  std::copy_n(g.most + row, count, most);
  std::copy_n(g.inverse + row, count, inverse);
  simd::call<dot_rows<T>>(
      dy, g.dy.row, g.y.at(b, h, first), g.y.row, count, sizes.value_dim, mean);
  bool is_first = true;
  each_run(a, block, kBackwardKeys, [&](int64_t j, int64_t keys) {
    T* const p = scratch.scores;
    T* const gradients = scratch.gradients;
    const T* const v = a.v.at(b, h, j);
    score_tile(a, block, j, keys, scratch.q, p);
    simd::call<weights_tile<T>>(p, keys, lanes, most, inverse);
    const uint32_t* kept = nullptr;
    if (a.drops()) {
      kept = scratch.kept(a, block, j, keys);
      simd::call<drop_tile<T>>(p, gradients, keys, lanes, kept, a.kept_scale);
    }
    // dv += dropout(p)^T dy
    multiply(
        {.m = keys,
         .n = sizes.value_dim,
         .k = count,
         .a = a.drops() ? gradients : p,
         .a_row = lanes,
         .a_column = 1,
         .b = dy,
         .b_row = g.dy.row,
         .c = g.dv.at(b, h, j),
         .c_row = g.dv.row,
         .add = adds});
    // g = dropout(dy v^T), transposed
    multiply(
        {.m = keys,
         .n = lanes,
         .k = sizes.value_dim,
         .a = v,
         .a_row = a.v.row,
         .a_column = 1,
         .b = scratch.dy,
         .b_row = lanes,
         .c = gradients,
         .c_row = lanes});
    if (a.drops()) {
      simd::call<drop_tile<T>>(
          gradients, gradients, keys, lanes, kept, a.kept_scale);
    }
    simd::call<score_gradients_tile<T>>(
        p, gradients, keys, lanes, mean, a.scale);
    // dk += ds^T q
    multiply(
        {.m = keys,
         .n = sizes.head_dim,
         .k = count,
         .a = p,
         .a_row = lanes,
         .a_column = 1,
         .b = q,
         .b_row = a.q.row,
         .c = g.dk.at(b, h, j),
         .c_row = g.dk.row,
         .add = adds});
    // dq += ds k
    multiply(
        {.m = count,
         .n = sizes.head_dim,
         .k = keys,
         .a = p,
         .a_row = 1,
         .a_column = lanes,
         .b = a.k.at(b, h, j),
         .b_row = a.k.row,
         .c = dq,
         .c_row = g.dq.row,
         .add = !is_first});
    is_first = false;
  });
  if (is_first) {
    for (int64_t l = 0; l < count; ++l) {
      std::fill_n(dq + l * g.dq.row, sizes.head_dim, T(0));
    }
  }
}

}  // namespace heed::detail
