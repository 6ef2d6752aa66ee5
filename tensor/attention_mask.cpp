#include "tensor/attention_mask.h"

#include <limits>

#include "tensor/comparison.h"
#include "tensor/reduction.h"

namespace heed {
namespace {

// [B, S], true = ignored.
Tensor padding_as_bool(std::string_view who, const Tensor& mask) {
  if (mask.dtype() == kBool) {
    return mask;
  }
  if (is_floating(mask.dtype())) {
    const Tensor ignored = eq(mask, -std::numeric_limits<double>::infinity());
    const Tensor kept = eq(mask, 0);
    if (all(logical_or(ignored, kept)).item<bool>()) {
      return ignored;
    }
    fail(
        who,
        "a float key_padding_mask must hold 0 (keep) and -inf (ignore) only, "
        "got other values; use a bool mask, true = padding");
  }
  fail(
      who,
      "key_padding_mask must have dtype bool (true = padding) or be 0 / -inf, "
      "got ",
      mask.dtype());
}

}  // namespace

AttentionMask make_attention_mask(
    std::string_view who,
    const AttentionMaskOptions& options,
    const Shape& scores,
    DType dtype) {
  AttentionMask result;
  result.is_causal = options.is_causal;
  if (options.key_padding_mask.defined()) {
    const Shape wanted = {scores[0], scores[3]};
    if (options.key_padding_mask.shape() != wanted) {
      fail(
          who,
          "key_padding_mask must have shape [B, S] = ",
          wanted,
          ", got ",
          options.key_padding_mask.shape());
    }
    result.padding = padding_as_bool(who, options.key_padding_mask);
  }
  if (options.attn_mask.defined()) {
    const Tensor& mask = options.attn_mask;
    if (!is_broadcastable_to(mask.shape(), scores)) {
      fail(
          who,
          "attn_mask must broadcast to [B, num_heads, T, S] = ",
          scores,
          ", got ",
          mask.shape());
    }
    if (mask.dtype() == kBool) {
      result.hidden = mask;
    } else if (mask.dtype() == dtype) {
      result.added = mask;
    } else {
      fail(
          who,
          "attn_mask must have dtype bool (true = hidden) or ",
          dtype,
          " (added to the scores), got ",
          mask.dtype());
    }
  }
  return result;
}

Tensor hidden_scores(const AttentionMask& mask, const Shape& scores) {
  Tensor hidden;
  const auto hide = [&hidden](const Tensor& more) {
    hidden = hidden.defined() ? logical_or(hidden, more) : more;
  };
  if (mask.padding.defined()) {
    hide(mask.padding.unsqueeze(1).unsqueeze(1));  // [B, 1, 1, S]
  }
  if (mask.is_causal) {
    hide(causal_mask(scores[2], scores[3]));  // [T, S]
  }
  if (mask.hidden.defined()) {
    hide(mask.hidden);
  }
  return hidden;
}

Tensor causal_mask(int64_t queries, int64_t keys) {
  Tensor mask({queries, keys}, kBool);
  bool* const hidden = mask.mutable_data<bool>();
  for (int64_t i = 0; i < queries; ++i) {
    for (int64_t j = 0; j < keys; ++j) {
      hidden[i * keys + j] = j > i + (keys - queries);
    }
  }
  return mask;
}

}  // namespace heed
