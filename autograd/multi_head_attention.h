#pragma once

#include <vector>

#include "autograd/attention.h"

namespace heed {

/// Attention of num_heads heads side by side, without the projection of their
/// outputs (Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2), in one
/// operation:
///
///     q, k, v = query Wq^T + bq, key Wk^T + bk, value Wv^T + bv
///     head_i  = attention(q_i, k_i, v_i)
///     y       = concat(head_1, ..., head_h)
///
/// Shape: query [B, T, d_model], key and value [B, S, d_model],
///        weight [3 d_model, d_model] (Wq, Wk and Wv one above the other),
///        bias [3 d_model] or undefined -> [B, T, d_model]
/// Throws std::invalid_argument for what does not fit.
Variable multi_head_attention(
    const Variable& query,
    const Variable& key,
    const Variable& value,
    const Variable& weight,
    const Variable& bias,
    int64_t num_heads,
    const AttentionOptions& options = {});

/// The same written out, with the weights before dropout [B, num_heads, T, S].
AttentionResult multi_head_attention_with_weights(
    const Variable& query,
    const Variable& key,
    const Variable& value,
    const Variable& weight,
    const Variable& bias,
    int64_t num_heads,
    const AttentionOptions& options = {});

/// Its projections alone, cut into heads: `count` of q, k and v from the
/// `first` (0, 1 or 2) on, each [B, num_heads, T, head_dim], of x [B, T,
/// d_model]. Throws std::invalid_argument for what does not fit.
std::vector<Variable> project_heads(
    const Variable& x,
    const Variable& weight,
    const Variable& bias,
    int64_t num_heads,
    int64_t first,
    int64_t count);

}  // namespace heed
