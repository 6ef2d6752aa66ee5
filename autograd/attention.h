#pragma once

#include "autograd/variable.h"
#include "tensor/attention.h"

namespace heed {

struct AttentionResult {
  Variable output;
  /// What each query made of each key; rows sum to 1, or are 0 when every key
  /// is hidden. Undefined unless asked for.
  Variable weights;
};

/// Attention (see attention_forward) in one operation that keeps no weights:
///
///     y = dropout(softmax(q k^T / sqrt(head_dim) + mask)) v
///
/// Backward computes the weights again, tile by tile.
///
/// Shape: q [B, num_heads, T, head_dim], k [B, num_heads, S, head_dim],
///        v [B, num_heads, S, value_dim] -> [B, num_heads, T, value_dim]
/// Throws std::invalid_argument for what does not fit.
Variable attention(
    const Variable& q,
    const Variable& k,
    const Variable& v,
    const AttentionOptions& options = {});

/// The same written out, with the weights before dropout [B, num_heads, T, S];
/// those of packed sequences with each at the front of its row.
AttentionResult attention_with_weights(
    const Variable& q,
    const Variable& k,
    const Variable& v,
    const AttentionOptions& options = {});

}  // namespace heed
