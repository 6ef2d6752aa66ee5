#include "tensor/dropout.h"

#include <algorithm>

#include "tensor/dropout_mask.h"
#include "tensor/parallel.h"
#include "tensor/simd.h"

namespace heed {
namespace {

constexpr int64_t kChunk = 1024;  // elements whose words are drawn in one go
constexpr int64_t kCost = 2;      // simple operations an element

template <typename T>
inline void drop(
    DropoutMask<T> mask, const T* x, T* y, int64_t begin, int64_t end) {
  uint32_t room[DropoutMask<T>::room_for(kChunk)];
  for (; begin < end; begin += kChunk) {
    const int64_t n = std::min(kChunk, end - begin);
    const uint32_t* const words = mask.draw(begin, n, room);
    const T* const from = x + begin;
    T* const to = y + begin;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      to[i] = mask(words[i], from[i]);
    }
  }
}

}  // namespace

void check_dropout(const Tensor& x, double p) {
  check_defined("dropout", x);
  visit_floating("dropout", x.dtype(), [](auto) {});
  if (!(p >= 0 && p <= 1)) {
    fail("dropout", "p must be in [0, 1], got ", p);
  }
}

Tensor dropout(const Tensor& x, double p, Generator& generator) {
  check_dropout(x, p);
  return p == 0 ? x : dropout(x, p, generator.reserve(x.numel()));
}

Tensor dropout(const Tensor& x, double p, const GeneratorState& start) {
  check_dropout(x, p);
  if (p == 0) {
    return x;
  }
  Tensor y(x.shape(), x.dtype());
  if (probability_threshold(p) > UINT32_MAX) {
    return y.zero_();
  }
  const Tensor dense = x.contiguous();
  visit_floating("dropout", x.dtype(), [&]<typename T>(TypeTag<T>) {
    const DropoutMask<T> mask(start, p);
    const T* const from = dense.data<T>();
    T* const to = y.mutable_data<T>();
    parallel_for(x.numel(), grain_for(kCost), [&](int64_t begin, int64_t end) {
      simd::call<drop<T>>(mask, from, to, begin, end);
    });
  });
  return y;
}

}  // namespace heed
