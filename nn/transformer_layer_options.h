#pragma once

#include <optional>

#include "nn/feed_forward.h"
#include "nn/layer_norm.h"
#include "nn/multi_head_attention.h"

namespace heed {

/// What encoder and decoder layers share. The defaults are the paper's (Vaswani
/// et al. 2017, arXiv:1706.03762).
struct TransformerLayerOptions {
  double dropout = 0.1;           ///< Of each sub-layer's output.
  double attention_dropout = 0;   ///< Of the attention weights.
  double activation_dropout = 0;  ///< Inside the feed-forward network.
  ActivationKind activation = ActivationKind::relu;
  /// Normalise the input of each sub-layer instead of the sum behind it.
  bool norm_first = false;
  /// Whether a stack ends with a norm of its own. Unset: when norm_first, which
  /// needs it; PyTorch's nn.Transformer always has it.
  std::optional<bool> final_norm = {};
  double norm_eps = 1e-5;
  bool bias = true;
  DType dtype = kFloat32;
  Generator& generator = default_generator();

  bool has_final_norm() const { return final_norm.value_or(norm_first); }

  MultiHeadAttentionOptions attention_options() const {
    return {attention_dropout, bias, dtype, generator};
  }
  FeedForwardOptions feed_forward_options() const {
    return {activation, activation_dropout, bias, dtype, generator};
  }
  LayerNormOptions norm_options() const {
    return {.eps = norm_eps, .affine = true, .bias = bias, .dtype = dtype};
  }
};

}  // namespace heed
