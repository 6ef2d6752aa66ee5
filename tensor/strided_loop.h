#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "tensor/parallel.h"
#include "tensor/simd.h"
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

namespace detail {

// y[i] = f(a[i])
template <typename In, typename Out, typename F>
void map_run(int64_t n, Out* y, const In* a, F f) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    y[i] = f(a[i]);
  }
}

// y[i] = f(a[i], b[i])
template <typename In, typename Out, typename F>
void zip_run(int64_t n, Out* y, const In* a, const In* b, F f) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    y[i] = f(a[i], b[i]);
  }
}

// kKernel(args...), at the SIMD level in use if it is one of real numbers:
// others would only make the library larger.
template <auto kKernel, typename In, typename Out, typename... Args>
void call_kernel(Args... args) {
  if constexpr (std::is_floating_point_v<In> && std::is_floating_point_v<Out>) {
    simd::call<kKernel>(args...);
  } else {
    kKernel(args...);
  }
}

// Kernels walk adjacent elements. Others pass through a buffer of this size:
// one kernel for all strides, and the same bits.
inline constexpr int64_t kChunk = 256;

// The n elements at x, `stride` apart: where they are if they are adjacent,
// else in `buffer`.
template <typename T>
const T* gather(T* buffer, const T* x, int64_t n, int64_t stride) {
  if (stride == 1) {
    return x;
  }
  if (stride == 0) {
    std::fill_n(buffer, n, *x);
    return buffer;
  }
  for (int64_t i = 0; i < n; ++i) {
    buffer[i] = x[i * stride];
  }
  return buffer;
}

// The n elements of `buffer` to y, `stride` apart, unless they are there.
template <typename T>
void scatter(const T* buffer, T* y, int64_t n, int64_t stride) {
  if (buffer == y) {
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    y[i * stride] = buffer[i];
  }
}

template <typename In, typename Out>
using MapKernel = void (*)(const void* f, int64_t n, Out* y, const In* a);
template <typename In, typename Out>
using ZipKernel =
    void (*)(const void* f, int64_t n, Out* y, const In* a, const In* b);

// What map_into does, for all f of these types.
template <typename In, typename Out>
void map_elements(
    Tensor& out,
    const Tensor& x,
    int64_t cost,
    MapKernel<In, Out> kernel,
    const void* f) {
  const StridedLoop<2> loop(out.shape(), {&out, &x});
  Out* const y0 = out.mutable_data<Out>();
  const In* const a0 = x.data<In>();
  loop.run(cost, [=](const int64_t* offset, int64_t n, const int64_t* stride) {
    Out* y = y0 + offset[0];
    const In* a = a0 + offset[1];
    if (stride[0] == 1 && stride[1] == 1) {
      kernel(f, n, y, a);
      return;
    }
    Out results[kChunk];
    In elements[kChunk];
    for (int64_t i = 0; i < n; i += kChunk) {
      const int64_t m = std::min(kChunk, n - i);
      Out* const to = stride[0] == 1 ? y : results;
      kernel(f, m, to, gather(elements, a, m, stride[1]));
      scatter(to, y, m, stride[0]);
      y += kChunk * stride[0];
      a += kChunk * stride[1];
    }
  });
}

// What zip_into does, for all f of these types.
template <typename In, typename Out>
void zip_elements(
    Tensor& out,
    const Tensor& x,
    const Tensor& z,
    int64_t cost,
    ZipKernel<In, Out> kernel,
    const void* f) {
  const StridedLoop<3> loop(out.shape(), {&out, &x, &z});
  Out* const y0 = out.mutable_data<Out>();
  const In* const a0 = x.data<In>();
  const In* const b0 = z.data<In>();
  loop.run(cost, [=](const int64_t* offset, int64_t n, const int64_t* stride) {
    Out* y = y0 + offset[0];
    const In* a = a0 + offset[1];
    const In* b = b0 + offset[2];
    if (stride[0] == 1 && stride[1] == 1 && stride[2] == 1) {
      kernel(f, n, y, a, b);
      return;
    }
    Out results[kChunk];
    In a_elements[kChunk];
    In b_elements[kChunk];
    for (int64_t i = 0; i < n; i += kChunk) {
      const int64_t m = std::min(kChunk, n - i);
      Out* const to = stride[0] == 1 ? y : results;
      kernel(
          f,
          m,
          to,
          gather(a_elements, a, m, stride[1]),
          gather(b_elements, b, m, stride[2]));
      scatter(to, y, m, stride[0]);
      y += kChunk * stride[0];
      a += kChunk * stride[1];
      b += kChunk * stride[2];
    }
  });
}

}  // namespace detail

/// out = f(x), element by element; x broadcasts to out's shape. `out` may be x
/// itself. `cost` as in StridedLoop::run.
template <typename In, typename Out, typename F>
void map_into(Tensor& out, const Tensor& x, int64_t cost, const F& f) {
  detail::map_elements<In, Out>(
      out,
      x,
      cost,
      [](const void* g, int64_t n, Out* y, const In* a) {
        detail::call_kernel<detail::map_run<In, Out, F>, In, Out>(
            n, y, a, *static_cast<const F*>(g));
      },
      &f);
}

/// out = f(a, b), element by element; a and b broadcast to out's shape. `out`
/// may be a or b itself.
template <typename In, typename Out, typename F>
void zip_into(
    Tensor& out, const Tensor& a, const Tensor& b, int64_t cost, const F& f) {
  detail::zip_elements<In, Out>(
      out,
      a,
      b,
      cost,
      [](const void* g, int64_t n, Out* y, const In* pa, const In* pb) {
        detail::call_kernel<detail::zip_run<In, Out, F>, In, Out>(
            n, y, pa, pb, *static_cast<const F*>(g));
      },
      &f);
}

}  // namespace heed
