#pragma once

#include <functional>
#include <vector>

#include "nn/next_token_scorer.h"

namespace heed {

/// Scores tokens by a function of all tokens before them, called anew each
/// time: for models without caches, of decoders alone for example, and for
/// trying out a search on paper.
class PrefixScorer : public NextTokenScorer {
 public:
  /// Prefixes, ids int64 [rows, t], and which sentence each is of -> scores of
  /// the next tokens, [rows, vocab_size].
  using Scores = std::function<Tensor(
      const Tensor& prefixes, const std::vector<int64_t>& sentences)>;

  /// Throws std::invalid_argument for a negative number of sentences or no
  /// vocabulary.
  PrefixScorer(int64_t num_sentences, int64_t vocab_size, Scores scores);

  int64_t num_sentences() const override { return num_sentences_; }
  int64_t vocab_size() const override { return vocab_size_; }
  Tensor step(const Tensor& tokens) override;
  void select_rows(
      const std::vector<int64_t>& rows, int64_t rows_per_sentence) override;

 private:
  int64_t num_sentences_;
  int64_t vocab_size_;
  Scores scores_;
  Tensor prefixes_;                 // [rows, t]
  std::vector<int64_t> sentences_;  // of each row
};

}  // namespace heed
