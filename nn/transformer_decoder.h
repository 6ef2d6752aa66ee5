#pragma once

#include <vector>

#include "nn/dropout.h"
#include "nn/feed_forward.h"
#include "nn/key_value_cache.h"
#include "nn/layer_norm.h"
#include "nn/layer_stack.h"
#include "nn/multi_head_attention.h"
#include "nn/transformer_layer_options.h"

namespace heed {

/// The masks of a decoder: over the target itself and over the memory. Packed
/// targets need packings in both.
struct DecoderMaskOptions {
  AttentionMaskOptions self = {.is_causal = true};
  AttentionMaskOptions cross = {};
};

/// What one decoder layer keeps while a sequence is decoded step by step.
struct DecoderLayerCache {
  KeyValueCache self;
  KeyValueCache cross;
};

/// Causal self-attention, attention over the encoder's output, then a
/// feed-forward network, each with dropout, a residual connection and a norm
/// (Vaswani et al. 2017, arXiv:1706.03762, section 3.1).
///
/// Shape:       x [B, T, d_model], memory [B, S, d_model] -> [B, T, d_model]
/// Parameters:  self_attn, multihead_attn, linear1, linear2, norm1, norm2,
///              norm3, as PyTorch's TransformerDecoderLayer
class TransformerDecoderLayer : public Module {
 public:
  /// Throws std::invalid_argument as MultiHeadAttention and FeedForward do.
  TransformerDecoderLayer(
      int64_t d_model,
      int64_t num_heads,
      int64_t d_ff,
      const TransformerLayerOptions& options = {});

  /// `self_weights` and `cross_weights`, if given, are set to [B, num_heads, T,
  /// T] and [B, num_heads, T, S]. Throws std::invalid_argument for shapes and
  /// masks that do not fit, as start() and step().
  Variable forward(
      const Variable& x,
      const Variable& memory,
      const DecoderMaskOptions& masks = {},
      Variable* self_weights = nullptr,
      Variable* cross_weights = nullptr) const;

  /// The cache to decode with over `memory` [B, S, d_model].
  DecoderLayerCache start(const Variable& memory) const;
  /// The rows of forward, causal, for the new positions x [B, t, d_model]. B
  /// may be several times the memory's: as many neighbours then share each of
  /// its sequences. memory_padding [B of the memory, S] and padding [B, all
  /// positions so far]: true = ignored.
  Variable step(
      const Variable& x,
      DecoderLayerCache& cache,
      const Tensor& memory_padding,
      const Tensor& padding = {}) const;

 private:
  bool norm_first_;
  MultiHeadAttention self_attn_;
  MultiHeadAttention multihead_attn_;
  FeedForward feed_forward_;
  LayerNorm norm1_;
  LayerNorm norm2_;
  LayerNorm norm3_;
  Dropout dropout_;
};

/// A stack of decoder layers, ending with a norm when they are norm_first, or
/// as final_norm says.
///
/// Shape:       tgt [B, T, d_model], memory [B, S, d_model] -> [B, T, d_model]
/// Parameters:  layers.0, layers.1, ..., and norm when it ends with one
class TransformerDecoder : public LayerStack<TransformerDecoderLayer> {
 public:
  /// Throws std::invalid_argument unless num_layers >= 0, and as the layers do.
  TransformerDecoder(
      int64_t num_layers,
      int64_t d_model,
      int64_t num_heads,
      int64_t d_ff,
      const TransformerLayerOptions& options = {});

  /// `self_weights` and `cross_weights`, if given, get those of each layer.
  /// Throws as the layers do; step() also for another number of caches.
  Variable forward(
      const Variable& tgt,
      const Variable& memory,
      const DecoderMaskOptions& masks = {},
      std::vector<Variable>* self_weights = nullptr,
      std::vector<Variable>* cross_weights = nullptr) const;

  /// One cache a layer, to decode with over `memory` [B, S, d_model].
  std::vector<DecoderLayerCache> start(const Variable& memory) const;
  /// The rows of forward, causal, for the new positions x [B, t, d_model]. B
  /// may be several times the memory's: as many neighbours then share each of
  /// its sequences. memory_padding [B of the memory, S] and padding [B, all
  /// positions so far]: true = ignored.
  Variable step(
      const Variable& x,
      std::vector<DecoderLayerCache>& caches,
      const Tensor& memory_padding,
      const Tensor& padding = {}) const;
};

}  // namespace heed
