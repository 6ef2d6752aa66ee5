#include "nn/beam_search.h"

#include "nn/evaluation.h"
#include "nn/token_search.h"
#include "nn/transformer_scorer.h"

namespace heed {

std::vector<std::vector<Hypothesis>> beam_search(
    NextTokenScorer& scorer, const BeamSearchOptions& options) {
  return search_tokens("beam_search", scorer, options, likeliest_tokens);
}

std::vector<std::vector<Hypothesis>> beam_search(
    Transformer& model, const Tensor& src, const BeamSearchOptions& options) {
  check_search_options("beam_search", options, model.tgt_vocab_size());
  const BeamSearchOptions allowed =
      without_padding("beam_search", model, options);
  const Evaluation evaluation(model);
  TransformerScorer scorer(model, src);
  return beam_search(scorer, allowed);
}

}  // namespace heed
