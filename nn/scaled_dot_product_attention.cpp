#include "nn/scaled_dot_product_attention.h"

#include <cmath>
#include <limits>

#include "autograd/dropout.h"
#include "autograd/elementwise.h"
#include "autograd/matmul.h"
#include "autograd/softmax.h"

namespace heed {

AttentionResult scaled_dot_product_attention(
    const Variable& q,
    const Variable& k,
    const Variable& v,
    const ScaledDotProductOptions& options) {
  constexpr const char* kWho = "scaled_dot_product_attention";
  if (q.dim() != 4 || k.dim() != 4 || v.dim() != 4 ||
      k.shape() != Shape({q.size(0), q.size(1), k.size(2), q.size(3)}) ||
      v.shape() != Shape({q.size(0), q.size(1), k.size(2), v.size(3)})) {
    fail(
        kWho,
        "q must have shape [B, num_heads, T, head_dim], k and v [B, "
        "num_heads, S, head_dim], got ",
        q.shape(),
        ", ",
        k.shape(),
        " and ",
        v.shape());
  }
  if (!(options.dropout >= 0 && options.dropout <= 1)) {
    fail(kWho, "dropout must be in [0, 1], got ", options.dropout);
  }
  const Shape shape({q.size(0), q.size(1), q.size(2), k.size(2)});
  const AttentionMask mask =
      make_attention_mask(kWho, options.mask, shape, q.dtype());
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
  Variable scores = matmul(q * scale, k.transpose(-2, -1));  // [B, H, T, S]
  if (mask.added.defined()) {
    scores = scores + mask.added;
  }
  if (mask.hidden.defined()) {
    scores = masked_fill(
        scores, mask.hidden, -std::numeric_limits<double>::infinity());
  }
  const Variable weights = softmax(scores, -1);
  const Variable kept =
      options.dropout > 0 ? dropout(weights, options.dropout, options.generator)
                          : weights;
  return {matmul(kept, v), options.need_weights ? weights : Variable()};
}

}  // namespace heed
