#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace heed {

/// The keys and values of the positions that an attention has seen, so that
/// decoding computes each of them once.
class KeyValueCache {
 public:
  KeyValueCache() = default;
  /// A copy goes its own way: what is appended to one is not in the other.
  KeyValueCache(const KeyValueCache& other);
  KeyValueCache(KeyValueCache&&) = default;
  KeyValueCache& operator=(KeyValueCache other) noexcept;

  /// Adds t positions; key and value [B, num_heads, t, head_dim].
  /// Throws std::invalid_argument unless they fit each other and what is here.
  void append(const Tensor& key, const Tensor& value);

  /// Sequence i goes on as a copy of what sequence rows[i] is; those that are
  /// not named are forgotten. Does nothing before the first append(). Throws
  /// std::invalid_argument for a row that is not there.
  void select_rows(const std::vector<int64_t>& rows);

  /// Sequences; 0 before the first append().
  int64_t batch() const { return keys_.defined() ? keys_.size(0) : 0; }
  int64_t length() const { return length_; }
  /// [B, num_heads, length(), head_dim], a view; undefined before the first
  /// append().
  Tensor key() const;
  Tensor value() const;

 private:
  int64_t length_ = 0;
  Tensor keys_;  // room for more positions than are used
  Tensor values_;
};

}  // namespace heed
