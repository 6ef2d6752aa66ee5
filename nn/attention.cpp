#include "nn/attention.h"

#include <limits>

#include "autograd/elementwise.h"
#include "autograd/matmul.h"
#include "autograd/softmax.h"

namespace heed {

AttentionResult Attention::forward(
    const Variable& query,
    const Variable& key,
    const Variable& value,
    const Tensor& key_padding_mask) const {
  if (query.dim() != 3 || key.dim() != 3 || value.dim() != 3 ||
      key.size(0) != query.size(0) || value.size(0) != query.size(0) ||
      value.size(1) != key.size(1)) {
    fail(
        "Attention",
        "query must have shape [B, T, ...], key and value [B, S, ...], got ",
        query.shape(),
        ", ",
        key.shape(),
        " and ",
        value.shape());
  }
  const Shape heads({query.size(0), 1, query.size(1), key.size(1)});
  const AttentionMask mask = make_attention_mask(
      "Attention",
      {.key_padding_mask = key_padding_mask},
      heads,
      query.dtype());
  Variable s = scores(query, key);  // [B, T, S]
  if (mask.padding.defined()) {
    s = masked_fill(
        s,
        mask.padding.unsqueeze(1),  // [B, 1, S]
        -std::numeric_limits<double>::infinity());
  }
  const Variable weights = softmax(s, -1);
  return {matmul(weights, value), weights};
}

}  // namespace heed
