#include "nn/transformer_scorer.h"

namespace heed {

TransformerScorer::TransformerScorer(
    const Transformer& model, const Tensor& src)
    : model_(model),
      state_(model.start_decoding(src)),
      num_sentences_(state_.batch) {}

int64_t TransformerScorer::max_length() const {
  const int64_t learned = model_.options().learned_positions;
  return learned > 0 ? learned : NextTokenScorer::max_length();
}

Tensor TransformerScorer::step(const Tensor& tokens) {
  return model_.decode_step(tokens, state_);
}

void TransformerScorer::select_rows(
    const std::vector<int64_t>& rows, int64_t rows_per_sentence) {
  state_.select_rows(rows, rows_per_sentence);
}

}  // namespace heed
