#include "nn/transformer_encoder.h"

#include "nn/residual.h"

namespace heed {

TransformerEncoderLayer::TransformerEncoderLayer(
    int64_t d_model,
    int64_t num_heads,
    int64_t d_ff,
    const TransformerLayerOptions& options)
    : norm_first_(options.norm_first),
      self_attn_(d_model, num_heads, options.attention_options()),
      feed_forward_(d_model, d_ff, options.feed_forward_options()),
      norm1_(d_model, options.norm_options()),
      norm2_(d_model, options.norm_options()),
      dropout_({options.dropout, options.generator}) {
  add_module("self_attn", self_attn_);
  add_module_unprefixed("feed_forward", feed_forward_);
  add_module("norm1", norm1_);
  add_module("norm2", norm2_);
  add_module("dropout", dropout_);
}

Variable TransformerEncoderLayer::forward(
    const Variable& x,
    const AttentionMaskOptions& mask,
    Variable* weights) const {
  const Variable y =
      residual(x, norm1_, dropout_, norm_first_, [&](const Variable& z) {
        const AttentionResult result = self_attn_.forward(
            z,
            {.mask = mask,
             .need_weights = weights != nullptr,
             .average_weights = false});
        if (weights != nullptr) {
          *weights = result.weights;
        }
        return result.output;
      });
  return residual(y, norm2_, dropout_, norm_first_, [&](const Variable& z) {
    return feed_forward_(z);
  });
}

TransformerEncoder::TransformerEncoder(
    int64_t num_layers,
    int64_t d_model,
    int64_t num_heads,
    int64_t d_ff,
    const TransformerLayerOptions& options)
    : LayerStack(
          "TransformerEncoder", num_layers, d_model, num_heads, d_ff, options) {
}

Variable TransformerEncoder::forward(
    const Variable& src,
    const AttentionMaskOptions& mask,
    std::vector<Variable>* weights) const {
  if (weights != nullptr) {
    weights->clear();
  }
  Variable x = src;
  for (int64_t i = 0; i < num_layers(); ++i) {
    Variable* const own =
        weights == nullptr ? nullptr : &weights->emplace_back();
    x = layer(i).forward(x, mask, own);
  }
  return final_norm(x);
}

}  // namespace heed
