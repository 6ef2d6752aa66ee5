#pragma once

#include "tensor/attention_scores.h"

namespace heed::detail {

/// What forward left and what backward is to find.
template <typename T>
struct AttentionGradients {
  HeadsView<const T> dy;
  HeadsView<const T> y;
  const T* row_max;      // [B, num_heads, T]
  const T* inverse_sum;  // [B, num_heads, T]
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
  const QueryBlock block = a.block(b, h, first_block);
  const int64_t seen = block.count <= 0 ? 0 : a.visible_keys(block);
  for (int64_t j = 0; j < a.keys(b); ++j) {
    if (j >= seen || a.is_padding(b, j)) {
      std::fill_n(g.dk.at(b, h, j), a.sizes.head_dim, T(0));
      std::fill_n(g.dv.at(b, h, j), a.sizes.value_dim, T(0));
    }
  }
}

/// What is known of each query of a block.
template <typename T>
struct QueryStats {
  alignas(64) T row_max[kMaxLanes] = {};
  alignas(64) T inverse_sum[kMaxLanes] = {};
  alignas(64) T delta[kMaxLanes] = {};  // sum(p * g) = sum(dy * y)
};

template <typename T>
QueryStats<T> query_stats(
    const AttentionProblem<T>& a,
    const QueryBlock& block,
    const AttentionGradients<T>& g) {
  QueryStats<T> stats;
  const int64_t row =
      (block.b * a.sizes.heads + block.h) * a.sizes.queries + block.first;
  std::copy_n(g.row_max + row, block.count, stats.row_max);
  std::copy_n(g.inverse_sum + row, block.count, stats.inverse_sum);
  simd::call<dot_rows<T>>(
      g.dy.at(block.b, block.h, block.first),
      g.dy.row,
      g.y.at(block.b, block.h, block.first),
      g.y.row,
      block.count,
      a.sizes.value_dim,
      stats.delta);
  return stats;
}

/// What keys j ... j + keys - 1 do to the block's dq, and it to their dk and
/// dv: written, or added where that is said.
template <typename T>
void backward_tile(
    const AttentionProblem<T>& a,
    const QueryBlock& block,
    int64_t j,
    int64_t keys,
    bool adds_to_q,
    bool adds_to_kv,
    const QueryStats<T>& stats,
    AttentionScratch<T>& scratch,
    const AttentionGradients<T>& g) {
  const auto [b, h, first, count, lanes] = block;
  const AttentionSizes& sizes = a.sizes;
  T* const p = scratch.scores;
  T* const gradients = scratch.gradients;
  score_tile(a, block, j, keys, scratch.q, p);
  simd::call<weights_tile<T>>(p, keys, lanes, stats.row_max, stats.inverse_sum);
  const uint32_t* kept = nullptr;
  if (a.drops()) {
    kept = scratch.dropout.kept(a, block, j, keys);
    simd::call<drop_tile<T>>(p, gradients, keys, lanes, kept, a.kept_scale);
  }
  // dv += dropout(p)^T dy
  multiply_small(
      {.m = keys,
       .n = sizes.value_dim,
       .k = count,
       .a = a.drops() ? gradients : p,
       .a_row = lanes,
       .a_column = 1,
       .b = g.dy.at(b, h, first),
       .b_row = g.dy.row,
       .c = g.dv.at(b, h, j),
       .c_row = g.dv.row,
       .add = adds_to_kv});
  // g = dropout(dy v^T), transposed
  multiply_small(
      {.m = keys,
       .n = lanes,
       .k = sizes.value_dim,
       .a = a.v.at(b, h, j),
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
      p, gradients, keys, lanes, stats.delta, a.scale);
  // dk += ds^T q
  multiply_small(
      {.m = keys,
       .n = sizes.head_dim,
       .k = count,
       .a = p,
       .a_row = lanes,
       .a_column = 1,
       .b = a.q.at(b, h, first),
       .b_row = a.q.row,
       .c = g.dk.at(b, h, j),
       .c_row = g.dk.row,
       .add = adds_to_kv});
  // dq += ds k
  multiply_small(
      {.m = count,
       .n = sizes.head_dim,
       .k = keys,
       .a = p,
       .a_row = 1,
       .a_column = lanes,
       .b = a.k.at(b, h, j),
       .b_row = a.k.row,
       .c = g.dq.at(b, h, first),
       .c_row = g.dq.row,
       .add = adds_to_q});
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
  const AttentionSizes& sizes = a.sizes;
  transpose(
      a.q.at(b, h, first), a.q.row, block, sizes.head_dim, a.scale, scratch.q);
  transpose(
      g.dy.at(b, h, first), g.dy.row, block, sizes.value_dim, T(1), scratch.dy);
  if (a.drops()) {
    scratch.dropout.draw(a, block);
  }
  const QueryStats<T> stats = query_stats(a, block, g);
  bool is_first = true;
  each_run(a, block, kBackwardKeys, [&](int64_t j, int64_t keys) {
    backward_tile(a, block, j, keys, !is_first, adds, stats, scratch, g);
    is_first = false;
  });
  if (is_first) {
    for (int64_t l = 0; l < block.count; ++l) {
      std::fill_n(g.dq.at(b, h, first + l), sizes.head_dim, T(0));
    }
  }
}

}  // namespace heed::detail
