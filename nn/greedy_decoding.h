#pragma once

#include <vector>

#include "nn/transformer.h"

namespace heed {

struct GreedyDecodingOptions {
  int64_t bos_id = 1;        ///< Begins every sequence; not in the result.
  int64_t eos_id = 2;        ///< Ends a sequence; not in the result.
  int64_t max_length = 256;  ///< Tokens a sequence gets at most.
};

/// The sequences that taking the likeliest next token each time leads to, with
/// key/value caches and without dropout, whatever the model's mode. Ties go to
/// the lowest id. A sequence's result does not depend on the others.
///
/// Shape: src ids int64 [B, S] -> B sequences of at most max_length ids
/// Throws std::invalid_argument for ids that are not in the target vocabulary
/// or a negative max_length.
std::vector<std::vector<int64_t>> greedy_decode(
    Transformer& model,
    const Tensor& src,
    const GreedyDecodingOptions& options = {});

}  // namespace heed
