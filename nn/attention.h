#pragma once

#include "autograd/attention.h"
#include "nn/module.h"

namespace heed {

/// Attention by any rule that scores a query against a key:
///
///     weights = softmax over the keys of scores(query, key)
///     output  = weights value
///
/// One head, as in recurrent encoder-decoders; MultiHeadAttention is the
/// Transformer's. A query that may see no key gets zeros.
///
/// Shape: query [B, T, query_size], key [B, S, key_size], value [B, S,
///        value_size] -> output [B, T, value_size], weights [B, T, S]
class Attention : public Module {
 public:
  /// key_padding_mask [B, S]: true = padding, ignored; undefined: none is.
  /// Throws std::invalid_argument for shapes that do not fit.
  AttentionResult forward(
      const Variable& query,
      const Variable& key,
      const Variable& value,
      const Tensor& key_padding_mask = {}) const;

  /// The score of each query against each key, [B, T, S].
  virtual Variable scores(const Variable& query, const Variable& key) const = 0;
};

}  // namespace heed
