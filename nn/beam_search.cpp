#include "nn/beam_search.h"

#include "nn/model_search.h"
#include "nn/token_search.h"

namespace heed {

std::vector<std::vector<Hypothesis>> beam_search(
    NextTokenScorer& scorer, const BeamSearchOptions& options) {
  return search_tokens("beam_search", scorer, options, likeliest_tokens);
}

std::vector<std::vector<Hypothesis>> beam_search(
    Transformer& model, const Tensor& src, const BeamSearchOptions& options) {
  check_search_options("beam_search", options, model.tgt_vocab_size());
  return search_model(
      "beam_search",
      model,
      src,
      options,
      [](NextTokenScorer& scorer, const BeamSearchOptions& allowed) {
        return beam_search(scorer, allowed);
      });
}

}  // namespace heed
