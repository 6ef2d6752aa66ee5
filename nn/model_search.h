#pragma once

#include <optional>
#include <string_view>

#include "nn/evaluation.h"
#include "nn/transformer.h"
#include "nn/transformer_scorer.h"
#include "tensor/error.h"

namespace heed {

/// search(scorer, options) over the sources `src`, without dropout, whatever
/// the model's mode. Padding is never chosen unless it ends a sequence. Throws
/// std::invalid_argument in the name of `who` when padding begins one: nothing
/// follows padding.
template <typename Options, typename Search>
auto search_model(
    std::string_view who,
    Transformer& model,
    const Tensor& src,
    Options options,
    const Search& search) {
  const std::optional<int64_t> pad_id = model.options().pad_id;
  if (pad_id == options.bos_id) {
    fail(
        who,
        "bos_id must not be the model's pad_id, got ",
        options.bos_id,
        " for both");
  }
  if (pad_id && pad_id != options.eos_id) {
    options.banned_ids.push_back(*pad_id);
  }
  const Evaluation evaluation(model);
  TransformerScorer scorer(model, src);
  return search(scorer, options);
}

}  // namespace heed
