#pragma once

#include <heed/tensor/tensor.h>

#include <cstdint>
#include <vector>

#include "examples/translate/parallel_text.h"
#include "examples/translate/vocabulary.h"

namespace translate {

/// A sentence pair in ids: src ends with kEosId; tgt begins with kBosId and
/// ends with kEosId.
struct Pair {
  Ids src;
  Ids tgt;
};

std::vector<Pair> encode(
    const Vocabulary& vocabulary, const ParallelText& text);
/// Likewise one source sentence, ending with kEosId.
Ids encode_source(const Vocabulary& vocabulary, const std::string& line);

struct Batch {
  heed::Tensor src;      ///< [B, S]
  heed::Tensor tgt;      ///< [B, T], what the decoder is given
  heed::Tensor targets;  ///< [B, T], what it is to say: tgt one step on
  int64_t tokens = 0;    ///< Of targets that are no padding.
};

/// Rows of unequal length -> [B, longest], filled up with kPadId.
heed::Tensor padded(const std::vector<Ids>& rows);
Batch make_batch(
    const std::vector<Pair>& pairs, const std::vector<size_t>& indices);

/// Cuts pairs, sorted by length, into batches of at most `tokens` tokens with
/// padding, on the longer side: as many rows as fit, one at least.
std::vector<std::vector<size_t>> by_length(
    const std::vector<Pair>& pairs, std::vector<size_t> order, int64_t tokens);

/// The batches of a training run, epoch after epoch. Each epoch has all pairs
/// in a new order, a function of the seed and its number alone, so that epoch
/// and position are all there is to save.
class Batches {
 public:
  /// `pairs` must not be empty and must outlive this.
  Batches(const std::vector<Pair>& pairs, int64_t tokens, uint64_t seed);

  Batch next();

  int64_t epoch() const { return epoch_; }        ///< From 0.
  int64_t position() const { return position_; }  ///< Batches taken of it.
  int64_t batches_per_epoch() const {
    return static_cast<int64_t>(batches_.size());
  }
  /// Goes to where epoch() and position() were once. Throws
  /// std::invalid_argument for a place that does not exist.
  void go_to(int64_t epoch, int64_t position);

 private:
  void start(int64_t epoch);

  const std::vector<Pair>& pairs_;
  const int64_t tokens_;
  const uint64_t seed_;
  int64_t epoch_ = 0;
  int64_t position_ = 0;
  std::vector<std::vector<size_t>> batches_;  // of this epoch
};

}  // namespace translate
