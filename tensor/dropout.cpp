#include "tensor/dropout.h"

#include <algorithm>

#include "tensor/dropout_mask.h"
#include "tensor/elementwise.h"
#include "tensor/parallel.h"
#include "tensor/simd.h"

namespace heed {
namespace {

constexpr int64_t kCost = 2;  // simple operations an element

// What is kept of 1,024 elements, in 32 words: element 32 j + l is bit j of
// word l, so that SIMD lanes need nothing of each other.
constexpr int64_t kLanesKept = 32;
constexpr int64_t kChunk = 32 * kLanesKept;

// y = dropout(x), and what was kept; of chunks begin ... end - 1 of n elements.
template <typename T>
inline void drop_chunks(
    DropoutMask<T> mask,
    const T* x,
    int64_t n,
    int64_t begin,
    int64_t end,
    T* y,
    uint32_t* kept) {
  uint32_t room[dropout_room(kChunk)];
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const T* const from = x + chunk * kChunk;
    T* const to = y + chunk * kChunk;
    uint32_t* const bits = kept + chunk * kLanesKept;
    const int64_t count = std::min(kChunk, n - chunk * kChunk);
    const uint32_t* const words = mask.draw(chunk * kChunk, kChunk, room);
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      to[i] = mask(words[i], from[i]);
    }
    std::fill_n(bits, kLanesKept, 0);
    for (int64_t j = 0; j < 32; ++j) {
#pragma omp simd
      for (int64_t l = 0; l < kLanesKept; ++l) {
        bits[l] |= static_cast<uint32_t>(mask.keeps(words[32 * j + l])) << j;
      }
    }
  }
}

// y = scale x where it was kept, else 0; of chunks begin ... end - 1.
template <typename T>
inline void keep_chunks(
    const uint32_t* kept,
    T scale,
    const T* x,
    int64_t n,
    int64_t begin,
    int64_t end,
    T* y) {
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const T* const from = x + chunk * kChunk;
    T* const to = y + chunk * kChunk;
    const uint32_t* const bits = kept + chunk * kLanesKept;
    const int64_t count = std::min(kChunk, n - chunk * kChunk);
    const int64_t rows = count / kLanesKept;
    for (int64_t j = 0; j < rows; ++j) {
#pragma omp simd
      for (int64_t l = 0; l < kLanesKept; ++l) {
        const int64_t i = kLanesKept * j + l;
        to[i] = (bits[l] >> j & 1) != 0 ? scale * from[i] : T(0);
      }
    }
    for (int64_t i = rows * kLanesKept; i < count; ++i) {
      to[i] = (bits[i % kLanesKept] >> rows & 1) != 0 ? scale * from[i] : T(0);
    }
  }
}

int64_t chunks_of(int64_t n) { return n / kChunk + (n % kChunk != 0 ? 1 : 0); }

void check_probability(std::string_view who, double p) {
  if (!(p >= 0 && p <= 1)) {
    fail(who, "p must be in [0, 1], got ", p);
  }
}

}  // namespace

void check_dropout(std::string_view who, const Tensor& x, double p) {
  check_defined(who, x);
  visit_floating(who, x.dtype(), [](auto) {});
  check_probability(who, p);
}

void check_add_dropout(
    std::string_view who, const Tensor& x, const Tensor& branch, double p) {
  check_alike(who, branch, "branch", x, "x");
  visit_floating(who, x.dtype(), [](auto) {});
  check_probability(who, p);
}

Tensor dropout(const Tensor& x, double p, Generator& generator) {
  check_dropout("dropout", x, p);
  return p == 0 ? x : dropout(x, p, generator.reserve(x.numel()));
}

Tensor dropout(const Tensor& x, double p, const GeneratorState& start) {
  check_dropout("dropout", x, p);
  return p == 0 ? x : dropout_forward(x, p, start).y;
}

DropoutForward dropout_forward(
    const Tensor& x, double p, const GeneratorState& start) {
  check_dropout("dropout", x, p);
  const int64_t chunks = chunks_of(x.numel());
  Tensor y(x.shape(), x.dtype());
  Tensor kept({chunks, kLanesKept / 2}, kInt64);
  if (drops_all(p)) {
    return {y.zero_(), kept.zero_()};
  }
  const Tensor dense = x.contiguous();
  visit_floating("dropout", x.dtype(), [&]<typename T>(TypeTag<T>) {
    const DropoutMask<T> mask(start, p);
    const T* const from = dense.data<T>();
    T* const to = y.mutable_data<T>();
    auto* const bits =
        reinterpret_cast<uint32_t*>(kept.mutable_data<int64_t>());
    parallel_for(
        chunks, grain_for(kChunk * kCost), [&](int64_t begin, int64_t end) {
          simd::call<drop_chunks<T>>(
              mask, from, x.numel(), begin, end, to, bits);
        });
  });
  return {y, kept};
}

Tensor dropout_backward(const Tensor& dy, double p, const Tensor& kept) {
  check_dropout("dropout_backward", dy, p);
  check_defined("dropout_backward", kept, "kept");
  const int64_t chunks = chunks_of(dy.numel());
  if (kept.dtype() != kInt64 || !kept.is_contiguous() ||
      kept.shape() != Shape({chunks, kLanesKept / 2})) {
    fail(
        "dropout_backward",
        "kept must be of the forward of dy ",
        dy.shape(),
        ", got ",
        kept.dtype(),
        " ",
        kept.shape());
  }
  Tensor dx(dy.shape(), dy.dtype());
  const Tensor dense = dy.contiguous();
  visit_floating("dropout", dy.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto* const bits =
        reinterpret_cast<const uint32_t*>(kept.data<int64_t>());
    const T scale = static_cast<T>(1 / (1 - p));
    const T* const from = dense.data<T>();
    T* const to = dx.mutable_data<T>();
    parallel_for(
        chunks, grain_for(kChunk * kCost), [&](int64_t begin, int64_t end) {
          simd::call<keep_chunks<T>>(
              bits, scale, from, dy.numel(), begin, end, to);
        });
  });
  return dx;
}

Tensor add_dropout(
    const Tensor& x, const Tensor& branch, const DropoutDraw& draw) {
  check_add_dropout("add_dropout", x, branch, draw.p);
  if (draw.p == 0) {
    return x + branch;
  }
  if (drops_all(draw.p)) {
    return x.clone();
  }
  Tensor y(x.shape(), x.dtype());
  const Tensor dense_x = x.contiguous();
  const Tensor dense_branch = branch.contiguous();
  visit_floating("add_dropout", x.dtype(), [&]<typename T>(TypeTag<T>) {
    const DropoutMask<T> mask(draw.start, draw.p);
    const T* const a = dense_x.data<T>();
    const T* const b = dense_branch.data<T>();
    dropout_into(y, mask, kCost, [a, b](int64_t i, const auto& drop) {
      return a[i] + drop(b[i]);
    });
  });
  return y;
}

}  // namespace heed
