#pragma once

#include "tensor/attention_scores.h"

namespace heed::detail {

/// After the last tile: y divided by the sums, 0 where no key was visible, and
/// what backward needs of each query.
template <typename T>
void finish_block(
    const AttentionProblem<T>& a,
    const QueryBlock& block,
    Running<T>& running,
    const HeadsView<T>& y,
    T* row_max,
    T* inverse_sum) {
  const int64_t width = a.sizes.value_dim;
  T* const out = y.at(block.b, block.h, block.first);
  for (int64_t l = 0; l < block.count; ++l) {
    const T total = running.total[l];
    row_max[l] = total == 0 ? T(0) : running.row_max[l];
    inverse_sum[l] = total == 0 ? T(0) : 1 / total;
    running.rescale[l] = inverse_sum[l] * a.kept_scale;
    if (total == 0) {
      std::fill_n(out + l * y.row, width, T(0));
    }
  }
  simd::call<scale_rows<T>>(out, y.row, block.count, width, running.rescale);
}

/// Writes y of the block, and the largest score of each query and 1 over its
/// sum.
template <typename T>
void forward_block(
    const AttentionProblem<T>& a,
    const QueryBlock& block,
    AttentionScratch<T>& scratch,
    const HeadsView<T>& y,
    T* row_max,
    T* inverse_sum) {
  const int64_t width = a.sizes.value_dim;
  const int64_t lanes = block.lanes;
  T* const out = y.at(block.b, block.h, block.first);
  transpose(
      a.q.at(block.b, block.h, block.first),
      a.q.row,
      block,
      a.sizes.head_dim,
      a.scale,
      scratch.q);
  if (a.drops()) {
    scratch.dropout.draw(a, block);
  }
  Running<T> running;
  std::fill_n(running.row_max, lanes, -std::numeric_limits<T>::infinity());
  std::fill_n(running.total, lanes, T(0));
  bool is_first = true;
  each_run(a, block, kForwardKeys, [&](int64_t j, int64_t keys) {
    score_tile(a, block, j, keys, scratch.q, scratch.scores);
    simd::call<softmax_tile<T>>(scratch.scores, keys, lanes, &running);
    if (a.drops()) {
      simd::call<drop_tile<T>>(
          scratch.scores,
          scratch.scores,
          keys,
          lanes,
          scratch.dropout.kept(a, block, j, keys),
          T(1));
    }
    const auto is_one = [](T x) { return x == T(1); };
    if (!is_first &&
        !std::all_of(running.rescale, running.rescale + block.count, is_one)) {
      simd::call<scale_rows<T>>(
          out, y.row, block.count, width, running.rescale);
    }
    multiply_small(
        {.m = block.count,
         .n = width,
         .k = keys,
         .a = scratch.scores,
         .a_row = 1,
         .a_column = lanes,
         .b = a.v.at(block.b, block.h, j),
         .b_row = a.v.row,
         .c = out,
         .c_row = y.row,
         .add = !is_first});
    is_first = false;
  });
  finish_block(a, block, running, y, row_max, inverse_sum);
}

/// As forward_block, for queries that go by rows.
template <typename T>
void forward_rows(
    const AttentionProblem<T>& a,
    const QueryBlock& block,
    AttentionScratch<T>& scratch,
    const HeadsView<T>& y,
    T* row_max,
    T* inverse_sum) {
  const int64_t width = a.sizes.value_dim;
  T* const s = scratch.row;
  for (int64_t l = 0; l < block.count; ++l) {
    const QueryBlock row{block.b, block.h, block.first + l, 1, 1};
    const T* const q = a.q.at(row.b, row.h, row.first);
    T* const out = y.at(row.b, row.h, row.first);
    const int64_t visible = a.visible_keys(row);
    std::fill_n(s, visible, -std::numeric_limits<T>::infinity());
    each_run(a, row, visible, [&](int64_t j, int64_t keys) {
      simd::call_own<score_row<T, 16>, score_row<T, 32>, score_row<T, 64>>(
          q,
          a.k.at(row.b, row.h, j),
          a.k.row,
          keys,
          a.sizes.head_dim,
          a.scale,
          s + j);
      mask_scores(a, row, row.first, j, keys, s + j, 1);
    });
    simd::call<softmax_alone<T>>(s, visible, row_max + l, inverse_sum + l);
    std::fill_n(out, width, T(0));
    each_run(a, row, visible, [&](int64_t j, int64_t keys) {
      multiply_small(
          {.m = 1,
           .n = width,
           .k = keys,
           .a = s + j,
           .a_row = 1,
           .a_column = 1,
           .b = a.v.at(row.b, row.h, j),
           .b_row = a.v.row,
           .c = out,
           .c_row = y.row,
           .add = true});
    });
    simd::call<scale_rows<T>>(out, y.row, 1, width, inverse_sum + l);
  }
}

}  // namespace heed::detail
