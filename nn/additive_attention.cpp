#include "nn/additive_attention.h"

#include "autograd/activation.h"
#include "autograd/elementwise.h"

namespace heed {

AdditiveAttention::AdditiveAttention(
    int64_t query_size,
    int64_t key_size,
    int64_t hidden_size,
    const AdditiveAttentionOptions& options)
    : query_proj_(
          query_size, hidden_size, {false, options.dtype, options.generator}),
      key_proj_(
          key_size, hidden_size, {false, options.dtype, options.generator}),
      score_proj_(hidden_size, 1, {false, options.dtype, options.generator}) {
  add_module("query_proj", query_proj_);
  add_module("key_proj", key_proj_);
  add_module("score_proj", score_proj_);
}

Variable AdditiveAttention::scores(
    const Variable& query, const Variable& key) const {
  const Variable q = query_proj_(query).unsqueeze(2);  // [B, T, 1, hidden]
  const Variable k = key_proj_(key).unsqueeze(1);      // [B, 1, S, hidden]
  return score_proj_(tanh(q + k)).squeeze(-1);         // [B, T, S]
}

}  // namespace heed
