#pragma once

#include "nn/next_token_scorer.h"
#include "nn/transformer.h"

namespace heed {

/// A Transformer as a search sees it: sources encoded once, keys and values of
/// earlier positions kept, those of the source once for all rows of a sentence.
/// The model must be in evaluation mode unless dropout is wanted, and outlive
/// this.
class TransformerScorer : public NextTokenScorer {
 public:
  /// src ids int64 [B, S]. Throws std::invalid_argument as
  /// Transformer::start_decoding.
  TransformerScorer(const Transformer& model, const Tensor& src);

  int64_t num_sentences() const override { return num_sentences_; }
  int64_t vocab_size() const override { return model_.tgt_vocab_size(); }
  /// The number of positions when they are learned.
  int64_t max_length() const override;
  Tensor step(const Tensor& tokens) override;
  void select_rows(
      const std::vector<int64_t>& rows, int64_t rows_per_sentence) override;

 private:
  const Transformer& model_;
  DecodingState state_;
  int64_t num_sentences_;
};

}  // namespace heed
