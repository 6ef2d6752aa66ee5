#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "nn/beam_search.h"
#include "tensor/topk.h"

namespace heed {

// The search that beam search, greedy decoding and sampling share.

/// Throws std::invalid_argument in the name of `who` for options that beam
/// search refuses: with what is known before there is a scorer, and with it.
void check_search_options(
    std::string_view who, const BeamSearchOptions& options, int64_t vocab_size);
void check_search_options(
    std::string_view who,
    const BeamSearchOptions& options,
    const NextTokenScorer& scorer);

/// Where a step of the search stands.
struct SearchStep {
  int64_t position;                       ///< Of the token to be chosen.
  const std::vector<int64_t>& sentences;  ///< Of each row.
  int64_t count;                          ///< Tokens wanted a row.
};

/// Which tokens may follow each row, the best first: their scores and ids, at
/// most step.count a row, of `scores` [rows, vocab_size]. A score of -inf: no
/// token at all.
using ChooseTokens =
    std::function<TopK(const Tensor& scores, const SearchStep& step)>;

/// Those of the highest scores.
TopK likeliest_tokens(const Tensor& scores, const SearchStep& step);

/// Beam search that goes on from each hypothesis with the tokens that `choose`
/// says. Throws in the name of `who`.
std::vector<std::vector<Hypothesis>> search_tokens(
    std::string_view who,
    NextTokenScorer& scorer,
    const BeamSearchOptions& options,
    const ChooseTokens& choose);

}  // namespace heed
