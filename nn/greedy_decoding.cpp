#include "nn/greedy_decoding.h"

#include <utility>

#include "nn/model_search.h"
#include "nn/token_search.h"

namespace heed {
namespace {

constexpr const char* kWho = "greedy_decode";

BeamSearchOptions beam_of_one(const GreedyDecodingOptions& options) {
  return {
      .bos_id = options.bos_id,
      .eos_id = options.eos_id,
      .beam_size = 1,
      .alpha = 0,
      .max_length = options.max_length,
      .max_lengths = options.max_lengths,
      .banned_ids = options.banned_ids};
}

}  // namespace

std::vector<std::vector<int64_t>> greedy_decode(
    NextTokenScorer& scorer, const GreedyDecodingOptions& options) {
  std::vector<std::vector<int64_t>> sequences;
  for (auto& best :
       search_tokens(kWho, scorer, beam_of_one(options), likeliest_tokens)) {
    sequences.push_back(std::move(best.front().tokens));
  }
  return sequences;
}

std::vector<std::vector<int64_t>> greedy_decode(
    Transformer& model,
    const Tensor& src,
    const GreedyDecodingOptions& options) {
  check_search_options(kWho, beam_of_one(options), model.tgt_vocab_size());
  return search_model(
      kWho,
      model,
      src,
      options,
      [](NextTokenScorer& scorer, const GreedyDecodingOptions& allowed) {
        return greedy_decode(scorer, allowed);
      });
}

}  // namespace heed
