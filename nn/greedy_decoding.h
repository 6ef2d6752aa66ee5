#pragma once

#include <vector>

#include "nn/next_token_scorer.h"
#include "nn/transformer.h"

namespace heed {

struct GreedyDecodingOptions {
  int64_t bos_id = 1;        ///< Begins every sequence; not in the result.
  int64_t eos_id = 2;        ///< Ends a sequence; not in the result.
  int64_t max_length = 256;  ///< Tokens a sequence gets at most, eos included.
  /// The same for each sentence, where that is less; none: max_length for all.
  std::vector<int64_t> max_lengths = {};
  std::vector<int64_t> banned_ids = {};  ///< Never chosen: padding, say.
};

/// The sequences that taking the likeliest next token each time leads to: a
/// beam search whose beam holds one. Ties go to the lowest id. A sequence's
/// result does not depend on the others. Throws std::invalid_argument as
/// beam_search.
std::vector<std::vector<int64_t>> greedy_decode(
    NextTokenScorer& scorer, const GreedyDecodingOptions& options = {});

/// With key/value caches and without dropout, whatever the model's mode;
/// padding is never chosen, and must not be bos_id. Shape: src ids int64 [B, S]
/// -> B sequences of at most max_length ids
std::vector<std::vector<int64_t>> greedy_decode(
    Transformer& model,
    const Tensor& src,
    const GreedyDecodingOptions& options = {});

}  // namespace heed
