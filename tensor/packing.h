#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tensor/tensor.h"

namespace heed {

/// How a batch of B sequences that padding fills up to T places each looks
/// without the padding: their N tokens one after the other. A small value that
/// refers to shared, constant lists.
class Packing {
 public:
  /// Of no batch; only defined() may be asked of it.
  Packing() = default;
  /// `padding` bool [B, T], true = padding, wherever it stands. Throws
  /// std::invalid_argument for anything else.
  explicit Packing(const Tensor& padding);
  /// Of a batch without padding.
  Packing(int64_t batch, int64_t length);

  bool defined() const { return lists_ != nullptr; }
  /// B.
  int64_t batch() const { return lists_->batch; }
  /// T.
  int64_t length() const { return lists_->length; }
  /// N.
  int64_t tokens() const { return lists_->starts.back(); }
  /// [B + 1]: sequence b is the tokens from starts()[b] to starts()[b + 1].
  const std::vector<int64_t>& starts() const { return lists_->starts; }
  /// Tokens of sequence b.
  int64_t tokens(int64_t b) const { return starts()[b + 1] - starts()[b]; }
  /// [N]: place b T + t of each token in the padded batch, ascending.
  const std::vector<int64_t>& places() const { return lists_->places; }
  bool has_padding() const { return tokens() < batch() * length(); }
  /// Whether all padding stands at the end of its sequence.
  bool is_aligned() const { return lists_->is_aligned; }
  /// The same sequences with all padding at the end.
  Packing aligned() const;

 private:
  struct Lists {
    int64_t batch;
    int64_t length;
    std::vector<int64_t> starts;
    std::vector<int64_t> places;
    bool is_aligned = true;
  };

  std::shared_ptr<const Lists> lists_;
};

/// Leaves the padding out; a reshape where there is none.
/// Shape: x [B, T, *] -> y [1, N, *]. Throws std::invalid_argument for another
/// B or T than the packing's.
Tensor pack(const Tensor& x, const Packing& packing);

/// Puts the padding back, as zeros (false): the adjoint of pack.
/// Shape: x [1, N, *] -> y [B, T, *]. Throws std::invalid_argument for another
/// N than the packing's.
Tensor unpack(const Tensor& x, const Packing& packing);

}  // namespace heed
