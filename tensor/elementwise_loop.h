#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tensor/simd.h"
#include "tensor/strided_loop.h"

namespace heed {

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

// Whether kernels of these types are worth compiling for each SIMD level.
template <typename In, typename Out>
inline constexpr bool kIsReal =
    std::is_floating_point_v<In>&& std::is_floating_point_v<Out>;

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
        simd::call_if<detail::kIsReal<In, Out>, detail::map_run<In, Out, F>>(
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
        simd::call_if<detail::kIsReal<In, Out>, detail::zip_run<In, Out, F>>(
            n, y, pa, pb, *static_cast<const F*>(g));
      },
      &f);
}

}  // namespace heed
