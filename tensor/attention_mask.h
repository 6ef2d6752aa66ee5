#pragma once

#include <string_view>

#include "tensor/packing.h"
#include "tensor/tensor.h"

namespace heed {

/// What an attention is told to leave out, as its callers write it.
struct AttentionMaskOptions {
  /// [B, S]: true = padding, ignored. Or floats, 0 to keep and -inf to ignore.
  Tensor key_padding_mask = {};
  /// Broadcastable to [B, num_heads, T, S]: bool, true = may not attend; or
  /// floating, added to the scores.
  Tensor attn_mask = {};
  /// Query i sees the keys up to i + (S - T): the last query sees all.
  bool is_causal = false;
  /// When queries and keys come packed, [1, tokens, *]: how. A sequence's
  /// queries then see its own keys only. Both or none; without the masks above.
  Packing query_packing = {};
  Packing key_packing = {};
};

/// The same, checked against scores [B, num_heads, T, S].
struct AttentionMask {
  Tensor padding = {};  ///< bool [B, S], true = ignored; undefined: none is.
  /// bool, true = not attended to, and of the scores' dtype, added to them:
  /// both broadcastable to the scores or undefined.
  Tensor hidden = {};
  Tensor added = {};
  bool is_causal = false;
  /// Both or none, and then none of the tensors above.
  Packing query_packing = {};
  Packing key_packing = {};

  /// [B, num_heads, T, S] of the padded batch, for scores [1, num_heads, N, M]
  /// between packed tokens; others as they are.
  Shape padded_scores(const Shape& scores) const;
};

/// Checks the options against the scores they are for. Throws
/// std::invalid_argument in the name of `who` for a mask of a wrong shape or
/// dtype, packings that do not fit, and for a float key_padding_mask with other
/// values than 0 and -inf.
AttentionMask make_attention_mask(
    std::string_view who,
    const AttentionMaskOptions& options,
    const Shape& scores,
    DType dtype);

/// Throws std::invalid_argument in the name of `who` unless the packings of
/// `mask` fit each other, scores [1, num_heads, N, M] and its other parts.
void check_packings(
    std::string_view who, const AttentionMask& mask, const Shape& scores);

/// All that `mask` hides of the scores, a bool that broadcasts to them (to the
/// padded ones when it packs, each sequence at the front); undefined when it
/// hides nothing.
Tensor hidden_scores(const AttentionMask& mask, const Shape& scores);

/// bool [queries, keys], true where query i may not see key j: j > i + (keys -
/// queries).
Tensor causal_mask(int64_t queries, int64_t keys);

}  // namespace heed
