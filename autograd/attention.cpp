#include "autograd/attention.h"

#include <cmath>
#include <limits>

#include "autograd/composed_gradients.h"
#include "autograd/dropout.h"
#include "autograd/elementwise.h"
#include "autograd/grad_mode.h"
#include "autograd/matmul.h"
#include "autograd/packing.h"
#include "autograd/record.h"
#include "autograd/saved_attention_options.h"
#include "autograd/softmax.h"

namespace heed {
namespace {

// heads [1, num_heads, tokens, width] -> [B, num_heads, T, width], each
// sequence at the front.
Variable unpack_heads(const Variable& heads, const Packing& packing) {
  return unpack(heads.transpose(1, 2), packing.aligned()).transpose(1, 2);
}

// The inverse way.
Variable pack_heads(const Variable& heads, const Packing& packing) {
  return pack(heads.transpose(1, 2), packing.aligned()).transpose(1, 2);
}

}  // namespace

Variable attention(
    const Variable& q,
    const Variable& k,
    const Variable& v,
    const AttentionOptions& options) {
  check_attention(q.value(), k.value(), v.value(), options);
  Tensor y({q.size(0), q.size(1), q.size(2), v.size(3)}, q.dtype());
  const Tensor softmax_stats =
      attention_forward(q.value(), k.value(), v.value(), options, y);
  return record(
      "attention",
      y,
      {q, k, v},
      [q = saved(q),
       k = saved(k),
       v = saved(v),
       kept = SavedAttentionOptions(options),
       softmax_stats](
          const Variable& dy, const Variable& y) -> std::vector<Variable> {
        const AttentionOptions& options = kept.get();
        if (grad_enabled()) {
          return composed_gradients(
              [&options](const std::vector<Variable>& in) {
                return attention_with_weights(in[0], in[1], in[2], options)
                    .output;
              },
              {q, k, v},
              dy);
        }
        Tensor dq(q.shape(), dy.dtype());
        Tensor dk(k.shape(), dy.dtype());
        Tensor dv(v.shape(), dy.dtype());
        attention_backward(
            dy.value(),
            q.get().value(),
            k.get().value(),
            v.get().value(),
            y.value(),
            softmax_stats,
            options,
            dq,
            dk,
            dv);
        return {dq, dk, dv};
      });
}

AttentionResult attention_with_weights(
    const Variable& q,
    const Variable& k,
    const Variable& v,
    const AttentionOptions& options) {
  check_attention(q.value(), k.value(), v.value(), options);
  const Packing& queries = options.mask.query_packing;
  if (queries.defined()) {
    const Packing& keys = options.mask.key_packing;
    AttentionOptions unpacked = options;
    unpacked.mask = {
        .hidden = hidden_scores(options.mask, {1, 1, q.size(2), k.size(2)})};
    AttentionResult result = attention_with_weights(
        unpack_heads(q, queries),
        unpack_heads(k, keys),
        unpack_heads(v, keys),
        unpacked);
    result.output = pack_heads(result.output, queries);
    return result;
  }
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
  Variable scores = matmul(q * scale, k.transpose(-2, -1));  // [B, H, T, S]
  if (options.mask.added.defined()) {
    scores = scores + options.mask.added;
  }
  const Tensor hidden = hidden_scores(options.mask, scores.shape());
  if (hidden.defined()) {
    scores =
        masked_fill(scores, hidden, -std::numeric_limits<double>::infinity());
  }
  const Variable weights = softmax(scores, -1);
  return {matmul(dropout(weights, options.dropout, options.start), v), weights};
}

}  // namespace heed
