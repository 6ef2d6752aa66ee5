#pragma once

#include "autograd/attention.h"
#include "tensor/generator.h"

namespace heed {

struct ScaledDotProductOptions {
  AttentionMaskOptions mask = {};
  double dropout = 0;  ///< Probability that a weight is dropped, in [0, 1].
  Generator& generator = default_generator();
  bool need_weights = false;
};

/// Attention of queries over keys (Vaswani et al. 2017, arXiv:1706.03762, eq.
/// 1):
///
///     output = softmax(q k^T / sqrt(head_dim) + mask) v
///
/// The weights are never kept, and take no memory, unless they are asked for. A
/// query that may see no key gets zeros, and gives zero gradient.
///
/// Shape: q [B, num_heads, T, head_dim], k and v [B, num_heads, S, head_dim]
///        -> output [B, num_heads, T, head_dim], weights [B, num_heads, T, S]
/// Throws std::invalid_argument for shapes and masks that do not fit, and
/// unless dropout is in [0, 1].
AttentionResult scaled_dot_product_attention(
    const Variable& q,
    const Variable& k,
    const Variable& v,
    const ScaledDotProductOptions& options = {});

}  // namespace heed
