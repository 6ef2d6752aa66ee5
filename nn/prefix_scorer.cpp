#include "nn/prefix_scorer.h"

#include <numeric>
#include <utility>

#include "tensor/creation.h"
#include "tensor/indexing.h"
#include "tensor/joining.h"

namespace heed {

PrefixScorer::PrefixScorer(
    int64_t num_sentences, int64_t vocab_size, Scores scores)
    : num_sentences_(num_sentences),
      vocab_size_(vocab_size),
      scores_(std::move(scores)) {
  if (num_sentences < 0 || vocab_size <= 0) {
    fail(
        "PrefixScorer",
        "num_sentences must be >= 0 and vocab_size positive, got ",
        num_sentences,
        " and ",
        vocab_size);
  }
  prefixes_ = Tensor({num_sentences, 0}, kInt64);
  sentences_.resize(static_cast<size_t>(num_sentences));
  std::iota(sentences_.begin(), sentences_.end(), int64_t{0});
}

Tensor PrefixScorer::step(const Tensor& tokens) {
  prefixes_ = cat({prefixes_, tokens.unsqueeze(1)}, 1);
  return scores_(prefixes_, sentences_);
}

void PrefixScorer::select_rows(
    const std::vector<int64_t>& rows, int64_t /*rows_per_sentence*/) {
  prefixes_ = index_select(
      prefixes_, 0, from_vector(rows, {static_cast<int64_t>(rows.size())}));
  std::vector<int64_t> sentences;
  for (const int64_t row : rows) {
    sentences.push_back(sentences_[static_cast<size_t>(row)]);
  }
  sentences_ = std::move(sentences);
}

}  // namespace heed
