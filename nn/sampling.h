#pragma once

#include <vector>

#include "nn/hypothesis.h"
#include "nn/next_token_scorer.h"
#include "nn/transformer.h"
#include "tensor/generator.h"

namespace heed {

struct SamplingOptions {
  int64_t bos_id = 1;  ///< Begins every sequence; not in the result.
  int64_t eos_id = 2;  ///< Ends a sequence; not in the result.
  double temperature =
      1;              ///< Scores are divided by it: below 1 for safer ones.
  int64_t top_k = 0;  ///< Draw among so many likeliest tokens; 0: all.
  /// Draw among the fewest likeliest tokens that together have this
  /// probability (Holtzman et al. 2020, arXiv:1904.09751); after top_k.
  double top_p = 1;
  int64_t min_length = 0;    ///< Tokens a sequence gets at least.
  int64_t max_length = 256;  ///< Tokens a sequence gets at most, eos included.
  /// The same for each sentence, where that is less; none: max_length for all.
  std::vector<int64_t> max_lengths = {};
  std::vector<int64_t> banned_ids = {};  ///< Never chosen: padding, say.
  Generator& generator = default_generator();
};

/// Draws a sequence for each sentence, token by token, with probabilities
///
///     softmax(scores / temperature)
///
/// among the tokens that top_k and top_p leave. Each sentence takes its numbers
/// from a seed of its own, and these one after the other from the generator:
/// what it gets depends neither on its neighbours nor on how sentences are
/// grouped into batches, only on their order.
///
/// A hypothesis' log_prob is the model's own, with neither temperature nor cut;
/// its score is the same. Throws std::invalid_argument as beam_search, and
/// unless temperature > 0, top_k >= 0 and 0 < top_p <= 1.
std::vector<Hypothesis> sample_decode(
    NextTokenScorer& scorer, const SamplingOptions& options = {});

/// With key/value caches and without dropout, whatever the model's mode;
/// padding is never chosen, and must not be bos_id. Shape: src ids int64 [B, S]
/// -> B hypotheses
std::vector<Hypothesis> sample_decode(
    Transformer& model, const Tensor& src, const SamplingOptions& options = {});

}  // namespace heed
