#include "nn/scaled_dot_product_attention.h"

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
  const AttentionOptions fused{
      .mask = make_attention_mask(kWho, options.mask, shape, q.dtype()),
      .dropout = options.dropout,
      .start = options.dropout > 0 ? options.generator.reserve(shape.numel())
                                   : GeneratorState()};
  return options.need_weights ? attention_with_weights(q, k, v, fused)
                              : AttentionResult{attention(q, k, v, fused), {}};
}

}  // namespace heed
