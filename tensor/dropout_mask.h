#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/generator.h"
#include "tensor/parallel.h"
#include "tensor/simd.h"
#include "tensor/tensor.h"

namespace heed {

/// Words of scratch that dropout_words needs for n elements.
inline constexpr int64_t dropout_room(int64_t n) { return n + 131; }

/// Words first ... first + n - 1 of a draw; somewhere in `room`.
const uint32_t* dropout_words(
    const GeneratorState& start, int64_t first, int64_t n, uint32_t* room);

/// What dropout does to element i of a tensor, a function of i and of the state
/// the draw began at: for kernels that are called through simd::call.
template <typename T>
class DropoutMask {
 public:
  /// p in [0, 1], and not drops_all(p).
  DropoutMask(const GeneratorState& start, double p)
      : start_(start),
        lowest_kept_(static_cast<uint32_t>(probability_threshold(p))),
        scale_(static_cast<T>(1 / (1 - p))) {}

  /// Words that decide on elements first ... first + n - 1; somewhere in
  /// `room`, of dropout_room(n).
  const uint32_t* draw(int64_t first, int64_t n, uint32_t* room) const {
    return dropout_words(start_, first, n, room);
  }

  /// Whether the element that `word` decides on is kept.
  [[gnu::always_inline]] bool keeps(uint32_t word) const {
    return word >= lowest_kept_;
  }
  /// x / (1 - p), or 0 where the element is dropped.
  [[gnu::always_inline]] T operator()(uint32_t word, T x) const {
    return keeps(word) ? x * scale_ : T(0);
  }

 private:
  GeneratorState start_;
  uint32_t lowest_kept_;
  T scale_;
};

/// Whether p is too near to 1 for any element to be kept.
inline bool drops_all(double p) {
  return probability_threshold(p) > UINT32_MAX;
}

namespace detail {

template <typename T, typename F>
inline void dropout_run(
    DropoutMask<T> mask, T* y, int64_t begin, int64_t end, F f) {
  constexpr int64_t kChunk = 1024;
  uint32_t room[dropout_room(kChunk)];
  for (; begin < end; begin += kChunk) {
    const int64_t n = std::min(kChunk, end - begin);
    const uint32_t* const words = mask.draw(begin, n, room);
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const uint32_t word = words[i];
      y[begin + i] = f(begin + i, [&mask, word](T x) { return mask(word, x); });
    }
  }
}

}  // namespace detail

/// y[i] = f(i, drop) for all elements of y, which lies densely; drop(x) is x /
/// (1 - p), or 0 where element i is dropped. `cost` as of grain_for.
template <typename T, typename F>
void dropout_into(
    Tensor& y, const DropoutMask<T>& mask, int64_t cost, const F& f) {
  T* const to = y.mutable_data<T>();
  parallel_for(y.numel(), grain_for(cost), [&](int64_t begin, int64_t end) {
    simd::call<detail::dropout_run<T, F>>(mask, to, begin, end, f);
  });
}

}  // namespace heed
