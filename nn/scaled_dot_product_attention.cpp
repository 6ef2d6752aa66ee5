#include "nn/scaled_dot_product_attention.h"

namespace heed {

AttentionResult scaled_dot_product_attention(
    const Variable& q,
    const Variable& k,
    const Variable& v,
    const ScaledDotProductOptions& options) {
  constexpr const char* kWho = "scaled_dot_product_attention";
  check_attention_inputs(
      kWho, q.value(), k.value(), v.value(), options.dropout);
  const Shape shape({q.size(0), q.size(1), q.size(2), k.size(2)});
  AttentionOptions fused{
      .mask = make_attention_mask(kWho, options.mask, shape, q.dtype()),
      .dropout = options.dropout};
  if (options.dropout > 0) {
    fused.start =
        options.generator.reserve(fused.mask.padded_scores(shape).numel());
  }
  return options.need_weights ? attention_with_weights(q, k, v, fused)
                              : AttentionResult{attention(q, k, v, fused), {}};
}

}  // namespace heed
