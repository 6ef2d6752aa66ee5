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

/// bool [B, 1, T, S] of aligned sequences.
Tensor hidden_by_packing(const AttentionMask& mask) {
  const Packing& queries = mask.query_packing;
  const Packing& keys = mask.key_packing;
  Tensor result({queries.batch(), 1, queries.length(), keys.length()}, kBool);
  bool* hidden = result.mutable_data<bool>();
  for (int64_t b = 0; b < queries.batch(); ++b) {
    const int64_t lead = keys.tokens(b) - queries.tokens(b);
    for (int64_t i = 0; i < queries.length(); ++i) {
      const int64_t seen = i >= queries.tokens(b) ? 0
                           : mask.is_causal       ? i + lead + 1
                                                  : keys.tokens(b);
      for (int64_t j = 0; j < keys.length(); ++j) {
        *hidden++ = j >= seen;
      }
    }
  }
  return result;
}

[[noreturn]] void fail_masked(std::string_view who) {
  fail(who, "packed sequences must come without other masks than is_causal");
}

}  // namespace

Shape AttentionMask::padded_scores(const Shape& scores) const {
  return query_packing.defined() ? Shape(
                                       {query_packing.batch(),
                                        scores[1],
                                        query_packing.length(),
                                        key_packing.length()})
                                 : scores;
}

void check_packings(
    std::string_view who, const AttentionMask& mask, const Shape& scores) {
  const Packing& queries = mask.query_packing;
  const Packing& keys = mask.key_packing;
  if (!queries.defined() && !keys.defined()) {
    return;
  }
  if (!queries.defined() || !keys.defined()) {
    fail(
        who,
        "query_packing and key_packing must be given together, got the ",
        queries.defined() ? "first" : "second",
        " alone");
  }
  if (queries.batch() != keys.batch()) {
    fail(
        who,
        "query_packing and key_packing must be of as many sequences, got ",
        queries.batch(),
        " and ",
        keys.batch());
  }
  if (scores[0] != 1 || scores[2] != queries.tokens() ||
      scores[3] != keys.tokens()) {
    fail(
        who,
        "packed queries and keys must be one sequence of ",
        queries.tokens(),
        " and ",
        keys.tokens(),
        " tokens, got scores of shape ",
        scores);
  }
  if (mask.padding.defined() || mask.hidden.defined() || mask.added.defined()) {
    fail_masked(who);
  }
}

AttentionMask make_attention_mask(
    std::string_view who,
    const AttentionMaskOptions& options,
    const Shape& scores,
    DType dtype) {
  AttentionMask result;
  result.is_causal = options.is_causal;
  result.query_packing = options.query_packing;
  result.key_packing = options.key_packing;
  if (result.query_packing.defined() && options.key_padding_mask.defined()) {
    fail_masked(who);
  }
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
  check_packings(who, result, scores);
  return result;
}

Tensor hidden_scores(const AttentionMask& mask, const Shape& scores) {
  if (mask.query_packing.defined()) {
    return hidden_by_packing(mask);
  }
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
