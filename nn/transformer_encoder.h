#pragma once

#include <vector>

#include "nn/dropout.h"
#include "nn/feed_forward.h"
#include "nn/layer_norm.h"
#include "nn/layer_stack.h"
#include "nn/multi_head_attention.h"
#include "nn/transformer_layer_options.h"

namespace heed {

/// Self-attention, then a feed-forward network, each with dropout, a residual
/// connection and a norm (Vaswani et al. 2017, arXiv:1706.03762, section 3.1):
///
///     x = norm(x + dropout(sublayer(x)))       or, with norm_first,
///     x = x + dropout(sublayer(norm(x)))
///
/// Shape:       x [B, T, d_model] -> [B, T, d_model]
/// Parameters:  self_attn, linear1, linear2, norm1, norm2, as PyTorch's
///              TransformerEncoderLayer
class TransformerEncoderLayer : public Module {
 public:
  /// Throws std::invalid_argument as MultiHeadAttention and FeedForward do.
  TransformerEncoderLayer(
      int64_t d_model,
      int64_t num_heads,
      int64_t d_ff,
      const TransformerLayerOptions& options = {});

  /// `weights`, if given, is set to [B, num_heads, T, T]. Throws
  /// std::invalid_argument for shapes and masks that do not fit.
  Variable forward(
      const Variable& x,
      const AttentionMaskOptions& mask = {},
      Variable* weights = nullptr) const;

 private:
  bool norm_first_;
  MultiHeadAttention self_attn_;
  FeedForward feed_forward_;
  LayerNorm norm1_;
  LayerNorm norm2_;
  Dropout dropout_;
};

/// A stack of encoder layers, ending with a norm when they are norm_first, or
/// as final_norm says.
///
/// Shape:       src [B, S, d_model] -> memory [B, S, d_model]
/// Parameters:  layers.0, layers.1, ..., and norm when it ends with one
class TransformerEncoder : public LayerStack<TransformerEncoderLayer> {
 public:
  /// Throws std::invalid_argument unless num_layers >= 0, and as the layers do.
  TransformerEncoder(
      int64_t num_layers,
      int64_t d_model,
      int64_t num_heads,
      int64_t d_ff,
      const TransformerLayerOptions& options = {});

  /// `weights`, if given, gets [B, num_heads, S, S] of each layer. Throws as
  /// the layers do.
  Variable forward(
      const Variable& src,
      const AttentionMaskOptions& mask = {},
      std::vector<Variable>* weights = nullptr) const;
};

}  // namespace heed
