#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tensor/attention_problem.h"
#include "tensor/ceil_div.h"

namespace heed::detail {

static_assert(kRandomWords == 64);  // as bits of the words that keep them

/// What dropout keeps of the weights of one block of queries after the other.
class AttentionDropout {
 public:
  template <typename T>
  explicit AttentionDropout(const AttentionProblem<T>& a)
      : bits_(a.drops() ? a.sizes.keys * kMaxLanes / 64 + 4 : 0) {}

  /// Draws for a block; kept() is about this one from now on.
  template <typename T>
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
      const int64_t end = ceil_div(begin + visible, kRandomWords);
      keep_bits(
          a.start,
          next,
          std::max<int64_t>(0, end - next),
          a.threshold,
          bits_.data() + (next - first_batch_));
      next = std::max(next, end);
    }
  }

  /// The bits of keys j ... j + keys - 1, as drop_tile wants them.
  template <typename T>
  const uint32_t* kept(
      const AttentionProblem<T>& a,
      const QueryBlock& block,
      int64_t j,
      int64_t keys) {
    const int64_t offset = first_bit_ - first_batch_ * kRandomWords + j;
    for (int64_t word = 0; word * 32 < keys; ++word) {
      for (int64_t q = 0; q < block.count; ++q) {
        const int64_t bit = offset + q * a.sizes.keys + word * 32;
        const uint64_t* const at = bits_.data() + bit / 64;
        const int shift = static_cast<int>(bit % 64);
        kept_[word * kMaxLanes + q] = static_cast<uint32_t>(
            shift == 0 ? at[0] : at[0] >> shift | at[1] << (64 - shift));
      }
    }
    return kept_;
  }

 private:
  std::vector<uint64_t> bits_;  // one for each weight of the block
  int64_t first_bit_ = 0;       // the number of the first one in the draw
  int64_t first_batch_ = 0;
  alignas(64) uint32_t kept_[kForwardKeys / 32 * kMaxLanes] = {};
};

}  // namespace heed::detail
