#include "tensor/strided_loop.h"

#include <algorithm>

namespace heed {
namespace {

// As broadcast_strides, of dimension d alone.
int64_t broadcast_stride(const Tensor& x, const Shape& to, int64_t d) {
  const int64_t own = d - (to.size() - x.dim());
  const bool repeats = own < 0 || (x.shape()[own] == 1 && to[d] != 1);
  return repeats ? 0 : x.strides()[own];
}

}  // namespace

Dims broadcast_strides(const Tensor& x, const Shape& to) {
  Dims strides;
  for (int64_t d = 0; d < to.size(); ++d) {
    strides.push_back(broadcast_stride(x, to, d));
  }
  return strides;
}

namespace detail {

StridedWalk::StridedWalk(
    const Shape& shape, const Tensor* const* tensors, size_t num_arrays)
    : numel_(shape.numel()), num_arrays_(num_arrays) {
  const bool dense =
      std::all_of(tensors, tensors + num_arrays, [&](const Tensor* x) {
        return x->shape() == shape && x->is_contiguous();
      });
  if (dense) {
    rank_ = 1;
    sizes_[0] = numel_;
    strides_[0].fill(1);
    return;
  }
  for (int64_t d = 0; d < shape.size(); ++d) {
    Strides strides{};
    for (size_t k = 0; k < num_arrays; ++k) {
      strides[k] = broadcast_stride(*tensors[k], shape, d);
    }
    append(shape[d], strides);
  }
  close();
}

StridedWalk::StridedWalk(
    const Shape& shape, const Dims* strides_of, size_t num_arrays)
    : numel_(shape.numel()), num_arrays_(num_arrays) {
  for (int64_t d = 0; d < shape.size(); ++d) {
    Strides strides{};
    for (size_t k = 0; k < num_arrays; ++k) {
      strides[k] = strides_of[k][d];
    }
    append(shape[d], strides);
  }
  close();
}

// Takes in a dimension further inside.
void StridedWalk::append(int64_t size, const Strides& strides) {
  if (size == 1) {
    return;
  }
  bool merges = rank_ > 0;
  for (size_t k = 0; k < num_arrays_; ++k) {
    merges = merges && strides_[rank_ - 1][k] == strides[k] * size;
  }
  if (merges) {
    sizes_[rank_ - 1] *= size;
  } else {
    sizes_[rank_++] = size;
  }
  strides_[rank_ - 1] = strides;
}

void StridedWalk::close() {
  if (rank_ == 0) {  // a single number: one row of one element
    rank_ = 1;
    sizes_[0] = 1;
    strides_[0].fill(1);
  }
}

void StridedWalk::move(int64_t* offsets, int64_t d, int64_t steps) const {
  for (size_t k = 0; k < num_arrays_; ++k) {
    offsets[k] += steps * strides_[d][k];
  }
}

void StridedWalk::run_rows(
    int64_t begin, int64_t end, Body body, const void* f) const {
  const int64_t last = rank_ - 1;
  std::array<int64_t, kMaxRank> index;
  Strides offset{};
  int64_t rest = begin;
  for (int64_t d = last; d >= 0; --d) {
    index[d] = rest % sizes_[d];
    rest /= sizes_[d];
    move(offset.data(), d, index[d]);
  }
  while (true) {
    const int64_t n = std::min(sizes_[last] - index[last], end - begin);
    body(f, offset.data(), n, strides_[last].data());
    begin += n;
    if (begin == end) {
      return;
    }
    // To the start of the next row.
    for (int64_t d = last;; --d) {
      move(offset.data(), d, -index[d]);
      index[d] = 0;
      if (index[d - 1] + 1 < sizes_[d - 1]) {
        ++index[d - 1];
        move(offset.data(), d - 1, 1);
        break;
      }
    }
  }
}

}  // namespace detail
}  // namespace heed
