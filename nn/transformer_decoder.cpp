#include "nn/transformer_decoder.h"

#include "nn/residual.h"

namespace heed {

TransformerDecoderLayer::TransformerDecoderLayer(
    int64_t d_model,
    int64_t num_heads,
    int64_t d_ff,
    const TransformerLayerOptions& options)
    : norm_first_(options.norm_first),
      self_attn_(d_model, num_heads, options.attention_options()),
      multihead_attn_(d_model, num_heads, options.attention_options()),
      feed_forward_(d_model, d_ff, options.feed_forward_options()),
      norm1_(d_model, options.norm_options()),
      norm2_(d_model, options.norm_options()),
      norm3_(d_model, options.norm_options()),
      dropout_({options.dropout, options.generator}) {
  add_module("self_attn", self_attn_);
  add_module("multihead_attn", multihead_attn_);
  add_module_unprefixed("feed_forward", feed_forward_);
  add_module("norm1", norm1_);
  add_module("norm2", norm2_);
  add_module("norm3", norm3_);
  add_module("dropout", dropout_);
}

Variable TransformerDecoderLayer::forward(
    const Variable& x,
    const Variable& memory,
    const DecoderMaskOptions& masks,
    Variable* self_weights,
    Variable* cross_weights) const {
  const auto keep = [](const AttentionResult& result, Variable* weights) {
    if (weights != nullptr) {
      *weights = result.weights;
    }
    return result.output;
  };
  Variable y =
      residual(x, norm1_, dropout_, norm_first_, [&](const Variable& z) {
        return keep(
            self_attn_.forward(
                z,
                {.mask = masks.self,
                 .need_weights = self_weights != nullptr,
                 .average_weights = false}),
            self_weights);
      });
  y = residual(y, norm2_, dropout_, norm_first_, [&](const Variable& z) {
    return keep(
        multihead_attn_.forward(
            z,
            memory,
            memory,
            {.mask = masks.cross,
             .need_weights = cross_weights != nullptr,
             .average_weights = false}),
        cross_weights);
  });
  return residual(y, norm3_, dropout_, norm_first_, [&](const Variable& z) {
    return feed_forward_(z);
  });
}

DecoderLayerCache TransformerDecoderLayer::start(const Variable& memory) const {
  return {.self = {}, .cross = multihead_attn_.project(memory)};
}

Variable TransformerDecoderLayer::step(
    const Variable& x,
    DecoderLayerCache& cache,
    const Tensor& memory_padding,
    const Tensor& padding) const {
  Variable y =
      residual(x, norm1_, dropout_, norm_first_, [&](const Variable& z) {
        return self_attn_.step(z, cache.self, padding);
      });
  y = residual(y, norm2_, dropout_, norm_first_, [&](const Variable& z) {
    // The rows of one sequence of the memory are queries to it side by side.
    const int64_t batch = cache.cross.batch();
    const bool shared = batch > 0 && z.size(0) != batch;
    const Variable query = shared ? z.reshape({batch, -1, z.size(2)}) : z;
    return multihead_attn_.attend(query, cache.cross, memory_padding)
        .reshape(z.shape());
  });
  return residual(y, norm3_, dropout_, norm_first_, [&](const Variable& z) {
    return feed_forward_(z);
  });
}

TransformerDecoder::TransformerDecoder(
    int64_t num_layers,
    int64_t d_model,
    int64_t num_heads,
    int64_t d_ff,
    const TransformerLayerOptions& options)
    : LayerStack(
          "TransformerDecoder", num_layers, d_model, num_heads, d_ff, options) {
}

Variable TransformerDecoder::forward(
    const Variable& tgt,
    const Variable& memory,
    const DecoderMaskOptions& masks,
    std::vector<Variable>* self_weights,
    std::vector<Variable>* cross_weights) const {
  for (std::vector<Variable>* weights : {self_weights, cross_weights}) {
    if (weights != nullptr) {
      weights->clear();
    }
  }
  const auto place = [](std::vector<Variable>* weights) {
    return weights == nullptr ? nullptr : &weights->emplace_back();
  };
  Variable x = tgt;
  for (int64_t i = 0; i < num_layers(); ++i) {
    x = layer(i).forward(
        x, memory, masks, place(self_weights), place(cross_weights));
  }
  return final_norm(x);
}

std::vector<DecoderLayerCache> TransformerDecoder::start(
    const Variable& memory) const {
  std::vector<DecoderLayerCache> caches;
  for (int64_t i = 0; i < num_layers(); ++i) {
    caches.push_back(layer(i).start(memory));
  }
  return caches;
}

Variable TransformerDecoder::step(
    const Variable& x,
    std::vector<DecoderLayerCache>& caches,
    const Tensor& memory_padding,
    const Tensor& padding) const {
  if (static_cast<int64_t>(caches.size()) != num_layers()) {
    fail(
        "TransformerDecoder",
        "there must be a cache for each of ",
        num_layers(),
        " layers, got ",
        caches.size(),
        "; make them by start()");
  }
  Variable y = x;
  for (int64_t i = 0; i < num_layers(); ++i) {
    y = layer(i).step(
        y, caches[static_cast<size_t>(i)], memory_padding, padding);
  }
  return final_norm(y);
}

}  // namespace heed
