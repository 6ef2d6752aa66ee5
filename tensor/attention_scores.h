#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "tensor/attention_problem.h"
#include "tensor/dropout_mask.h"
#include "tensor/simd.h"
#include "tensor/small_product.h"
#include "tensor/transpose_rows.h"

namespace heed::detail {

/// Room for the tiles of one thread.
template <typename T>
class AttentionScratch {
 public:
  explicit AttentionScratch(const AttentionProblem<T>& a, int64_t keys)
      : room_(
            {std::max(
                a.sizes.keys,
                (a.sizes.head_dim + a.sizes.value_dim + 2 * keys) * kMaxLanes)},
            dtype_of<T>),
        q(room_.mutable_data<T>()),
        dy(q + a.sizes.head_dim * kMaxLanes),
        scores(dy + a.sizes.value_dim * kMaxLanes),
        gradients(scores + keys * kMaxLanes),
        kept_bits_(a.drops() ? a.sizes.keys * kMaxLanes / 64 + 4 : 0) {}

  /// Draws what dropout keeps of the block's scores.
  void draw(const AttentionProblem<T>& a, const QueryBlock& block) {
    const int64_t row =
        (block.b * a.sizes.heads + block.h) * a.sizes.queries + block.first;
    first_bit_ = row * a.sizes.keys;
    const int64_t visible = a.visible_keys(block);
    first_batch_ = first_bit_ / kRandomWords;
    int64_t next = first_batch_;
    for (int64_t q = 0; q < block.count && visible > 0; ++q) {
      const int64_t begin = first_bit_ + q * a.sizes.keys;
      next = std::max(next, begin / kRandomWords);
      for (; next * kRandomWords < begin + visible; ++next) {
        kept_bits_[static_cast<size_t>(next - first_batch_)] =
            keep_bits(a.start, next, a.threshold);
      }
    }
  }

  /// The bits of keys j ... j + keys - 1, as drop_tile wants them.
  const uint32_t* kept(
      const AttentionProblem<T>& a,
      const QueryBlock& block,
      int64_t j,
      int64_t keys) {
    const int64_t offset = first_bit_ - first_batch_ * kRandomWords + j;
    for (int64_t word = 0; word * 32 < keys; ++word) {
      for (int64_t q = 0; q < block.count; ++q) {
        const int64_t bit = offset + q * a.sizes.keys + word * 32;
        const uint64_t* const at = kept_bits_.data() + bit / 64;
        const int shift = static_cast<int>(bit % 64);
        kept_[word * kMaxLanes + q] = static_cast<uint32_t>(
            shift == 0 ? at[0] : at[0] >> shift | at[1] << (64 - shift));
      }
    }
    return kept_;
  }

 private:
  Tensor room_;

 public:
  T* q;          // [head_dim, lanes], scaled
  T* dy;         // [value_dim, lanes]
  T* scores;     // [keys, lanes]
  T* gradients;  // [keys, lanes]

 private:
  std::vector<uint64_t> kept_bits_;  // a bit for each score of a block
  int64_t first_bit_ = 0;            // the number of the first one in the draw
  int64_t first_batch_ = 0;
  alignas(64) uint32_t kept_[kForwardKeys / 32 * kMaxLanes] = {};
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
  multiply(
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
    const int64_t first = j - block.first - a.lead();
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
      transpose_rows<T, 64>>(x, row, block.count, width, block.lanes, scale, y);
}

}  // namespace heed::detail
