#pragma once

#include <array>
#include <cstdint>

#include "tensor/parallel.h"
#include "tensor/simd.h"
#include "tensor/tensor.h"

namespace heed {

/// The strides under which `x` reads as a tensor of shape `to`: 0 where it
/// repeats. x must be broadcastable to `to`.
Dims broadcast_strides(const Tensor& x, const Shape& to);

/// A walk over N arrays of one shape in row-major order, dimensions that can be
/// walked as one being merged first.
template <size_t N>
class StridedLoop {
 public:
  using Offsets = std::array<int64_t, N>;

  StridedLoop(const Shape& shape, const std::array<Dims, N>& strides)
      : numel_(shape.numel()) {
    for (int64_t d = 0; d < shape.size(); ++d) {
      append(shape[d], strides, d);
    }
    if (rank_ == 0) {
      sizes_[rank_++] = 1;  // a single number: one row of one element
    }
  }

  /// Whether all dimensions merged into one.
  bool is_one_run() const { return rank_ == 1; }

  /// Calls body(offsets, count, strides) for runs of the innermost dimension:
  /// element i of a run is at offsets[k] + i * strides[k] in array k. Runs on
  /// several threads when numel * cost (simple operations an element) pays.
  template <typename Body>
  void run(int64_t cost, const Body& body) const {
    parallel_for(numel_, grain_for(cost), [&](int64_t begin, int64_t end) {
      const int64_t inner = sizes_[rank_ - 1];
      std::array<int64_t, kMaxRank> index;
      Offsets offsets{};
      int64_t rest = begin;
      for (int64_t d = rank_ - 1; d >= 0; --d) {
        index[d] = rest % sizes_[d];
        rest /= sizes_[d];
        move(offsets, d, index[d]);
      }
      while (begin < end) {
        const int64_t left = inner - index[rank_ - 1];
        const int64_t count = left < end - begin ? left : end - begin;
        body(offsets, count, strides_[rank_ - 1]);
        begin += count;
        if (begin < end) {
          next_row(index, offsets);
        }
      }
    });
  }

 private:
  void append(int64_t size, const std::array<Dims, N>& strides, int64_t d) {
    if (size == 1) {
      return;
    }
    bool merges = rank_ > 0;
    for (size_t k = 0; k < N && merges; ++k) {
      merges = strides_[rank_ - 1][k] == strides[k][d] * size;
    }
    if (merges) {
      sizes_[rank_ - 1] *= size;
    } else {
      sizes_[rank_++] = size;
    }
    for (size_t k = 0; k < N; ++k) {
      strides_[rank_ - 1][k] = strides[k][d];
    }
  }

  void move(Offsets& offsets, int64_t d, int64_t steps) const {
    for (size_t k = 0; k < N; ++k) {
      offsets[k] += steps * strides_[d][k];
    }
  }

  // From anywhere in an innermost row to the start of the next one.
  void next_row(std::array<int64_t, kMaxRank>& index, Offsets& offsets) const {
    for (int64_t d = rank_ - 1;; --d) {
      move(offsets, d, -index[d]);
      index[d] = 0;
      if (index[d - 1] + 1 < sizes_[d - 1]) {
        ++index[d - 1];
        move(offsets, d - 1, 1);
        return;
      }
    }
  }

  int64_t numel_;
  int64_t rank_ = 0;
  std::array<int64_t, kMaxRank> sizes_{};
  std::array<Offsets, kMaxRank> strides_{};  // of each merged dimension
};

namespace detail {

// y[i] = f(a[i]) for runs of n elements, `step`s apart.
template <typename In, typename Out, typename F>
void map_run(int64_t n, Out* y, const In* a, const int64_t* step, F f) {
  if (step[0] == 1 && step[1] == 1) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      y[i] = f(a[i]);
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      y[i * step[0]] = f(a[i * step[1]]);
    }
  }
}

// y[i] = f(a[i], b[i]) likewise.
template <typename In, typename Out, typename F>
void zip_run(
    int64_t n, Out* y, const In* a, const In* b, const int64_t* step, F f) {
  if (step[0] == 1 && step[1] == 1 && step[2] == 1) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      y[i] = f(a[i], b[i]);
    }
  } else if (step[0] == 1 && step[1] == 1 && step[2] == 0) {
    const In bv = *b;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      y[i] = f(a[i], bv);
    }
  } else if (step[0] == 1 && step[1] == 0 && step[2] == 1) {
    const In av = *a;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      y[i] = f(av, b[i]);
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      y[i * step[0]] = f(a[i * step[1]], b[i * step[2]]);
    }
  }
}

}  // namespace detail

/// out = f(x), element by element; x broadcasts to out's shape. `out` may be x
/// itself. `cost` as in StridedLoop::run.
template <typename In, typename Out, typename F>
void map_into(Tensor& out, const Tensor& x, int64_t cost, const F& f) {
  const StridedLoop<2> loop(
      out.shape(), {out.strides(), broadcast_strides(x, out.shape())});
  Out* const y = out.mutable_data<Out>();
  const In* const a = x.data<In>();
  loop.run(cost, [&](const auto& offset, int64_t n, const auto& stride) {
    simd::call<detail::map_run<In, Out, F>>(
        n, y + offset[0], a + offset[1], stride.data(), f);
  });
}

/// out = f(a, b), element by element; a and b broadcast to out's shape. `out`
/// may be a or b itself.
template <typename In, typename Out, typename F>
void zip_into(
    Tensor& out, const Tensor& a, const Tensor& b, int64_t cost, const F& f) {
  const StridedLoop<3> loop(
      out.shape(),
      {out.strides(),
       broadcast_strides(a, out.shape()),
       broadcast_strides(b, out.shape())});
  Out* const y = out.mutable_data<Out>();
  const In* const pa = a.data<In>();
  const In* const pb = b.data<In>();
  loop.run(cost, [&](const auto& offset, int64_t n, const auto& stride) {
    simd::call<detail::zip_run<In, Out, F>>(
        n, y + offset[0], pa + offset[1], pb + offset[2], stride.data(), f);
  });
}

}  // namespace heed
