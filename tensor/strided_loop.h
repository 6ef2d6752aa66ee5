#pragma once

#include <array>
#include <cstdint>

#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace heed {

/// The strides under which `x` reads as a tensor of shape `to`: 0 where it
/// repeats. x must be broadcastable to `to`.
Dims broadcast_strides(const Tensor& x, const Shape& to);

namespace detail {

/// StridedLoop for any number of arrays up to kMaxArrays; compiled once.
class StridedWalk {
 public:
  static constexpr size_t kMaxArrays = 4;

  bool is_one_run() const { return rank_ == 1; }

 protected:
  using Strides = std::array<int64_t, kMaxArrays>;
  using Body = void (*)(
      const void* f, const int64_t* offset, int64_t n, const int64_t* stride);

  StridedWalk(
      const Shape& shape, const Tensor* const* tensors, size_t num_arrays);
  StridedWalk(const Shape& shape, const Dims* strides, size_t num_arrays);

  void run_rows(int64_t begin, int64_t end, Body body, const void* f) const;

  int64_t numel_;
  int64_t rank_ = 0;
  size_t num_arrays_;
  std::array<int64_t, kMaxRank> sizes_;  // of the merged dimensions
  std::array<Strides, kMaxRank> strides_;

 private:
  void append(int64_t size, const Strides& strides);
  void close();
  void move(int64_t* offsets, int64_t d, int64_t steps) const;
};

}  // namespace detail

/// A walk over N arrays of one shape in row-major order, dimensions that can be
/// walked as one being merged first.
template <size_t N>
class StridedLoop : private detail::StridedWalk {
  static_assert(N <= kMaxArrays);

 public:
  /// Over tensors that broadcast to `shape`.
  StridedLoop(const Shape& shape, const std::array<const Tensor*, N>& tensors)
      : StridedWalk(shape, tensors.data(), N) {}
  /// Over arrays of `shape` that have these strides.
  StridedLoop(const Shape& shape, const std::array<Dims, N>& strides)
      : StridedWalk(shape, strides.data(), N) {}

  /// Whether all dimensions merged into one.
  using StridedWalk::is_one_run;

  /// Calls body(offset, count, stride) for runs of the innermost dimension:
  /// element i of a run is at offset[k] + i * stride[k] in array k. Runs on
  /// several threads when numel * cost (simple operations an element) pays.
  template <typename F>
  void run(int64_t cost, const F& body) const {
    parallel_for(numel_, grain_for(cost), [&](int64_t begin, int64_t end) {
      if (is_one_run()) {
        std::array<int64_t, N> offset;
        for (size_t k = 0; k < N; ++k) {
          offset[k] = begin * strides_[0][k];
        }
        call(&body, offset.data(), end - begin, strides_[0].data());
      } else {
        run_rows(begin, end, call<F>, &body);
      }
    });
  }

 private:
  template <typename F>
  static void call(
      const F* f, const int64_t* offset, int64_t n, const int64_t* stride) {
    (*f)(offset, n, stride);
  }
  template <typename F>
  static void call(
      const void* f, const int64_t* offset, int64_t n, const int64_t* stride) {
    call(static_cast<const F*>(f), offset, n, stride);
  }
};

}  // namespace heed
