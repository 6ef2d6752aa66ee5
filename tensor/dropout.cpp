#include "tensor/dropout.h"

#include <algorithm>

#include "tensor/parallel.h"
#include "tensor/philox.h"

namespace heed {
namespace {

// Elements 0 ... n - 1, of a batch of the draw.
template <typename T>
void drop_batch(
    const uint32_t* words,
    uint32_t lowest_kept,
    T scale,
    const T* x,
    T* y,
    int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    y[i] = words[i] >= lowest_kept ? x[i] * scale : T(0);
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
  const uint64_t threshold = probability_threshold(p);
  if (p == 0) {
    return x;
  }
  Tensor y(x.shape(), x.dtype());
  if (threshold > UINT32_MAX) {
    return y.zero_();
  }
  const Tensor dense = x.contiguous();
  visit_floating("dropout", x.dtype(), [&]<typename T>(TypeTag<T>) {
    constexpr int64_t kOperationsPerWord = 8;
    const T scale = static_cast<T>(1 / (1 - p));
    const int64_t n = x.numel();
    const T* const from = dense.data<T>();
    T* const to = y.mutable_data<T>();
    parallel_for(
        (n + kPhiloxBatchWords - 1) / kPhiloxBatchWords,
        grain_for(kPhiloxBatchWords * kOperationsPerWord),
        [&](int64_t begin, int64_t end) {
          uint32_t words[kPhiloxBatchWords];
          for (int64_t batch = begin; batch < end; ++batch) {
            const int64_t first = batch * kPhiloxBatchWords;
            random_words(start, batch, words);
            drop_batch(
                words,
                static_cast<uint32_t>(threshold),
                scale,
                from + first,
                to + first,
                std::min(kPhiloxBatchWords, n - first));
          }
        });
  });
  return y;
}

}  // namespace heed
