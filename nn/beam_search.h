#pragma once

#include <vector>

#include "nn/hypothesis.h"
#include "nn/next_token_scorer.h"
#include "nn/transformer.h"

namespace heed {

struct BeamSearchOptions {
  int64_t bos_id = 1;        ///< Begins every sequence; not in the result.
  int64_t eos_id = 2;        ///< Ends a sequence; not in the result.
  int64_t beam_size = 5;     ///< Hypotheses of a sentence kept at a time.
  int64_t n_best = 1;        ///< Of those, how many are returned at most.
  double alpha = 0.6;        ///< Of length_penalty(); 0: none.
  int64_t min_length = 0;    ///< Tokens a sequence gets at least.
  int64_t max_length = 256;  ///< Tokens a sequence gets at most, eos included.
  /// The same for each sentence, where that is less; none: max_length for all.
  std::vector<int64_t> max_lengths = {};
  std::vector<int64_t> banned_ids = {};  ///< Never chosen: padding, say.
};

/// Searches for the likeliest sequence of each sentence, beam_size hypotheses
/// at a time. Each step goes on with the likeliest of all their continuations;
/// one that ends with eos leaves and takes its place in the beam with it. The
/// search for a sentence is over when no place is left, or when none of those
/// that go on could still be among the n_best, however they end:
///
///     score = log_prob / ((5 + length) / 6)^alpha
///
/// With beam_size 1 this is greedy decoding. Equal scores go to the
/// continuation of the better hypothesis, then to the lowest id. A sentence's
/// result does not depend on the others. Log-probabilities are the model's
/// own, whatever is banned. Where no token is possible, a hypothesis is cut
/// off.
///
/// Returns for each sentence between 1 and n_best different hypotheses, the
/// best first. A model with learned positions stops where these end. Throws
/// std::invalid_argument for ids that are not in the vocabulary, unless 1 <=
/// n_best <= beam_size, 0 <= min_length <= max_length, alpha is finite and
/// max_lengths are none or one a sentence; for scores that are NaN or +inf.
std::vector<std::vector<Hypothesis>> beam_search(
    NextTokenScorer& scorer, const BeamSearchOptions& options = {});

/// With key/value caches and without dropout, whatever the model's mode;
/// padding is never chosen, and must not be bos_id. Shape: src ids int64 [B, S]
/// -> B lists of hypotheses
std::vector<std::vector<Hypothesis>> beam_search(
    Transformer& model,
    const Tensor& src,
    const BeamSearchOptions& options = {});

}  // namespace heed
