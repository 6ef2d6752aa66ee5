#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "tensor/tensor.h"

namespace heed {

/// What a search asks: how likely each token is to come next. It holds rows,
/// one a hypothesis; those of one sentence stand side by side, as many for each
/// sentence. At first each sentence has one row, of no tokens.
class NextTokenScorer {
 public:
  virtual ~NextTokenScorer() = default;

  virtual int64_t num_sentences() const = 0;
  virtual int64_t vocab_size() const = 0;
  /// Tokens that a row can be given.
  virtual int64_t max_length() const {
    return std::numeric_limits<int64_t>::max();
  }

  /// Takes the next token of each row, ids int64 [rows], and returns the scores
  /// of the one after it, floating [rows, vocab_size]: logits or, as softmax
  /// leaves them alone, log-probabilities. -inf: that token never comes.
  virtual Tensor step(const Tensor& tokens) = 0;

  /// Row i goes on as row rows[i] did. The rows of a sentence come from one
  /// sentence; a sentence none of whose rows is named is done with.
  virtual void select_rows(
      const std::vector<int64_t>& rows, int64_t rows_per_sentence) = 0;
};

}  // namespace heed
