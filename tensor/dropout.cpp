#include "tensor/dropout.h"

#include "tensor/dropout_mask.h"
#include "tensor/elementwise.h"
#include "tensor/parallel.h"
#include "tensor/simd.h"

namespace heed {
namespace {

constexpr int64_t kCost = 2;  // simple operations an element

template <typename T>
inline void drop(
    DropoutMask<T> mask, const T* x, T* y, int64_t begin, int64_t end) {
  dropout_loop(mask, y, begin, end, [=](uint32_t word, int64_t i) {
    return mask(word, x[i]);
  });
}

template <typename T>
inline void add_dropped(
    DropoutMask<T> mask,
    const T* x,
    const T* branch,
    T* y,
    int64_t begin,
    int64_t end) {
  dropout_loop(mask, y, begin, end, [=](uint32_t word, int64_t i) {
    return x[i] + mask(word, branch[i]);
  });
}

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
  check_same_dtype(who, x, branch);
  visit_floating(who, x.dtype(), [](auto) {});
  if (x.shape() != branch.shape()) {
    fail(
        who,
        "branch must have the shape of x, ",
        x.shape(),
        ", got ",
        branch.shape());
  }
  check_probability(who, p);
}

Tensor dropout(const Tensor& x, double p, Generator& generator) {
  check_dropout("dropout", x, p);
  return p == 0 ? x : dropout(x, p, generator.reserve(x.numel()));
}

Tensor dropout(const Tensor& x, double p, const GeneratorState& start) {
  check_dropout("dropout", x, p);
  if (p == 0) {
    return x;
  }
  Tensor y(x.shape(), x.dtype());
  if (drops_all(p)) {
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
    T* const to = y.mutable_data<T>();
    parallel_for(x.numel(), grain_for(kCost), [&](int64_t begin, int64_t end) {
      simd::call<add_dropped<T>>(mask, a, b, to, begin, end);
    });
  });
  return y;
}

}  // namespace heed
