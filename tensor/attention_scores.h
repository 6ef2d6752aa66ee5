#pragma once

#include <algorithm>
#include <limits>

#include "tensor/attention_dropout.h"
#include "tensor/attention_problem.h"
#include "tensor/simd.h"
#include "tensor/small_product.h"
#include "tensor/transpose_rows.h"

namespace heed::detail {

/// Room for the tiles of one thread.
template <typename T>
struct AttentionScratch {
  AttentionScratch(const AttentionProblem<T>& a, int64_t keys)
      : room(
            {std::max(
                a.sizes.keys,
                (a.sizes.head_dim + a.sizes.value_dim + 2 * keys) * kMaxLanes)},
            dtype_of<T>),
        row(room.mutable_data<T>()),
        q(row),
        dy(q + a.sizes.head_dim * kMaxLanes),
        scores(dy + a.sizes.value_dim * kMaxLanes),
        gradients(scores + keys * kMaxLanes),
        dropout(a) {}

  Tensor room;   // where all of these are
  T* row;        // [keys], one query's scores: instead of all below
  T* q;          // [head_dim, lanes], scaled
  T* dy;         // [value_dim, lanes]
  T* scores;     // [keys, lanes]
  T* gradients;  // [keys, lanes]
  AttentionDropout dropout;
};

/// Applies what masks say, but is_causal, to the scores of query i for keys j
/// ... j + keys - 1, `step` elements apart.
template <typename T>
void mask_scores(
    const AttentionProblem<T>& a,
    const QueryBlock& block,
    int64_t i,
    int64_t j,
    int64_t keys,
    T* scores,
    int64_t step) {
  if (a.added.data != nullptr) {
    const T* const added = a.added.at(block.b, block.h, i, j);
    for (int64_t r = 0; r < keys; ++r) {
      scores[r * step] += added[r * a.added.strides[3]];
    }
  }
  if (a.hidden.data != nullptr) {
    const bool* const hidden = a.hidden.at(block.b, block.h, i, j);
    for (int64_t r = 0; r < keys; ++r) {
      if (hidden[r * a.hidden.strides[3]]) {
        scores[r * step] = -std::numeric_limits<T>::infinity();
      }
    }
  }
}

/// scores [keys, lanes] of the block's queries for keys from j on, masked.
template <typename T>
void score_tile(
    const AttentionProblem<T>& a,
    const QueryBlock& block,
    int64_t j,
    int64_t keys,
    const T* q,
    T* scores) {
  const int64_t lanes = block.lanes;
  multiply_small(
      {.m = keys,
       .n = lanes,
       .k = a.sizes.head_dim,
       .a = a.k.at(block.b, block.h, j),
       .a_row = a.k.row,
       .a_column = 1,
       .b = q,
       .b_row = lanes,
       .c = scores,
       .c_row = lanes});
  for (int64_t l = 0; l < block.count; ++l) {
    mask_scores(a, block, block.first + l, j, keys, scores + l, lanes);
  }
  if (a.is_causal) {
    const int64_t first = j - block.first - a.lead(block.b);
    for (int64_t r = std::max<int64_t>(0, 1 - first); r < keys; ++r) {
      std::fill_n(
          scores + r * lanes,
          std::min(first + r, lanes),
          -std::numeric_limits<T>::infinity());
    }
  }
}

/// y [width, lanes] = scale x^T, see transpose_rows.
template <typename T>
void transpose(
    const T* x,
    int64_t row,
    const QueryBlock& block,
    int64_t width,
    T scale,
    T* y) {
  simd::call_own<
      transpose_rows<T, 16>,
      transpose_rows<T, 32>,
      transpose_rows<T, 64>>(
      x, row, block.count, width, block.lanes, scale, y, block.lanes);
}

}  // namespace heed::detail
