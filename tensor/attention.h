#pragma once

#include <string_view>

#include "tensor/attention_mask.h"
#include "tensor/generator.h"
#include "tensor/tensor.h"

namespace heed {

/// What stands between the scores and the weights of an attention.
struct AttentionOptions {
  AttentionMask mask = {};
  double dropout = 0;  ///< Probability that a weight is dropped, in [0, 1].
  /// The generator's state when the mask of dropout is drawn, one number for
  /// each of [B, num_heads, T, S] (of the padded batch when packed) in
  /// row-major order.
  GeneratorState start = {};
};

/// Throws std::invalid_argument in the name of `who` unless q, k and v have the
/// shapes of attention_forward and one floating dtype, and dropout is in
/// [0, 1].
void check_attention_inputs(
    std::string_view who,
    const Tensor& q,
    const Tensor& k,
    const Tensor& v,
    double dropout);

/// As above, and unless the masks fit the scores.
void check_attention(
    const Tensor& q,
    const Tensor& k,
    const Tensor& v,
    const AttentionOptions& options);

/// Attention of queries over keys (Vaswani et al. 2017, arXiv:1706.03762, eq.
/// 1), written to `y`:
///
///     y = dropout(softmax(q k^T / sqrt(head_dim) + mask)) v
///
/// Done in tiles with a running maximum and sum (FlashAttention, Dao et al.
/// 2022, arXiv:2205.14135): the scores never exist all at once, and tiles that
/// is_causal or padding hide are not even computed. What a padded key holds,
/// NaN included, changes nothing. A query that may see no key gets zeros.
///
/// Shape: q [B, num_heads, T, head_dim], k [B, num_heads, S, head_dim],
///        v [B, num_heads, S, value_dim], y [B, num_heads, T, value_dim]
///        -> what backward needs of each query, [2, B, num_heads, T]: the
///        largest score, and 1 over the sum of exp(score - that)
///
/// Packed (mask.query_packing and key_packing), with N tokens for B sequences
/// of T places and M for those of S: q and y [1, num_heads, N, *], k and v [1,
/// num_heads, M, *], what backward needs as above.
///
/// All four may be views of any strides; elements of a row of y must be
/// adjacent. Throws std::invalid_argument as check_attention, and for masks and
/// a y that do not fit.
Tensor attention_forward(
    const Tensor& q,
    const Tensor& k,
    const Tensor& v,
    const AttentionOptions& options,
    Tensor& y);

/// The gradients for that of y, dy, written to dq, dk and dv; `softmax_stats`
/// is what forward returned. With p the weights and g the gradient of p:
///
///     dv = dropout(p)^T dy,  g = dropout(dy v^T)
///     ds = p * (g - sum(p * g)) = p * (g - sum(dy * y))
///     dq = ds k / sqrt(head_dim),  dk = ds^T q / sqrt(head_dim)
///
/// The scores are computed again, tile by tile.
///
/// Shape: dy and y as y above, softmax_stats as returned above, dq, dk and dv
/// as q, k and v; elements of a row of y, dq, dk and dv must be adjacent.
/// Throws std::invalid_argument as attention_forward, and for gradients and
/// statistics that do not fit.
void attention_backward(
    const Tensor& dy,
    const Tensor& q,
    const Tensor& k,
    const Tensor& v,
    const Tensor& y,
    const Tensor& softmax_stats,
    const AttentionOptions& options,
    Tensor& dq,
    Tensor& dk,
    Tensor& dv);

}  // namespace heed
