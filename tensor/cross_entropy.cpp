#include "tensor/cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/class_targets.h"
#include "tensor/lanes.h"
#include "tensor/parallel.h"
#include "tensor/reduction.h"
#include "tensor/simd.h"
#include "tensor/vector_math.h"

namespace heed {
namespace {

constexpr int64_t kCost = 4;  // simple operations an element
// Elements whose exp() is computed while as many of the next row are fetched,
// and room for the next ones.
constexpr int64_t kChunk = 256;

// Rows of numbers, one for each class, and their targets.
template <typename T>
struct Rows {
  const T* x;  // [count, n]
  const int64_t* targets;
  int64_t count;
  int64_t n;
  int64_t ignore_index;
  double smoothing;
};

template <typename T>
[[gnu::always_inline]] inline bool allowed(T logit) {
  return logit != -std::numeric_limits<T>::infinity();
}

// What a row's loss and its gradient are made of.
template <typename T>
struct RowSums {
  T most;           // the largest logit, 0 if no class is allowed
  double total;     // sum(exp(x - most)), 0 if none is
  double distance;  // sum(most - x) over allowed classes, if smoothing asks
  double count;     // of allowed classes, likewise
};

enum class For { reading, writing };

template <For kPurpose, typename T>
[[gnu::always_inline]] inline void prefetch(const T* x, int64_t n) {
  constexpr int64_t kCacheLine = 64 / sizeof(T);
  constexpr int kCache = kPurpose == For::writing ? 2 : 3;  // 3: the first
  for (int64_t i = 0; i < n; i += kCacheLine) {
    __builtin_prefetch(x + i, kPurpose == For::writing, kCache);
  }
}

// Writes exp(x - most) to `exps` if kKeeps. Meanwhile fetches `next`, the next
// row if there is one: its maximum is found as fast as it can be read.
template <bool kKeeps, typename T>
[[gnu::always_inline]] inline RowSums<T> sum_row(
    const T* x, int64_t n, double smoothing, const T* next, T* exps) {
  const T largest = lane_max(x, n);
  const T most = allowed(largest) ? largest : T(0);
  double total = 0;
  double distance = 0;
  for (int64_t begin = 0; begin < n; begin += kChunk) {
    const int64_t size = std::min(kChunk, n - begin);
    if (next != nullptr) {
      prefetch<For::reading>(next + begin, size);
    }
    if constexpr (kKeeps) {
      const int64_t end = begin + size;
      prefetch<For::writing>(exps + end, std::min(kChunk, n - end));
    }
    const auto sums = lane_sums<T, 2>(size, [=](int64_t i, T& sum, T& below) {
      const T d = x[begin + i] - most;
      const T e = vector_math::exp_up_to_40(d);
      if constexpr (kKeeps) {
        exps[begin + i] = e;
      }
      sum += e;
      below -= d;
    });
    total += sums[0];
    distance += sums[1];
  }
  if (smoothing == 0 || std::isfinite(distance)) {
    return {most, total, distance, static_cast<double>(n)};
  }
  // In float64: finite logits of float32 may be too far apart for float32.
  const auto [allowed_distance, count] =
      lane_sums<double, 2>(n, [=](int64_t i, double& below, double& counted) {
        const double d = static_cast<double>(most) - static_cast<double>(x[i]);
        below += allowed(x[i]) ? d : 0.0;
        counted += allowed(x[i]) ? 1.0 : 0.0;
      });
  return {most, total, allowed_distance, count};
}

// -sum(q * log softmax(x)); log softmax(x)_j = (x_j - most) - log(total), where
// most may be too large for log(total) to be added to it.
template <typename T>
[[gnu::always_inline]] inline double loss_of(
    const RowSums<T>& sums, T x_target, int64_t n, double smoothing) {
  const double log_total = sums.total == 0 ? 0 : std::log(sums.total);
  double loss = 0;
  if (smoothing < 1) {
    loss = (1 - smoothing) *
           ((static_cast<double>(sums.most) - static_cast<double>(x_target)) +
            log_total);
  }
  if (smoothing > 0) {
    loss += smoothing / static_cast<double>(n) *
            (sums.distance + sums.count * log_total);
  }
  return loss;
}

// dx = scale * (softmax(x) * sum(q) - q), where dx holds exp(x - most).
template <typename T>
[[gnu::always_inline]] inline void gradient_row(
    const RowSums<T>& sums,
    const T* x,
    int64_t n,
    int64_t target,
    double smoothing,
    double scale,
    T* dx) {
  const double share = smoothing / static_cast<double>(n);
  const double mass = 1 - smoothing + share * sums.count;
  const T of_exp =
      sums.total == 0 ? T(0) : static_cast<T>(scale * mass / sums.total);
  const T of_all = static_cast<T>(scale * share);
  if (sums.count == static_cast<double>(n)) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      dx[i] = dx[i] * of_exp - of_all;
    }
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      dx[i] = dx[i] * of_exp - (allowed(x[i]) ? of_all : T(0));
    }
  }
  dx[target] -= static_cast<T>(scale * (1 - smoothing));
}

// The losses of rows, and their gradients times `scale` if kWithGradient.
template <bool kWithGradient, typename T>
inline void loss_rows(
    Rows<T> rows, int64_t begin, int64_t end, double scale, T* loss, T* dx) {
  const int64_t n = rows.n;
  for (int64_t i = begin; i < end; ++i) {
    const T* const x = rows.x + i * n;
    T* const dx_row = kWithGradient ? dx + i * n : nullptr;
    const int64_t target = rows.targets[i];
    if (target == rows.ignore_index) {
      loss[i] = T(0);
      if constexpr (kWithGradient) {
        std::fill_n(dx_row, n, T(0));
      }
      continue;
    }
    const T* const next = i + 1 < rows.count ? x + n : nullptr;
    const RowSums<T> sums =
        sum_row<kWithGradient>(x, n, rows.smoothing, next, dx_row);
    loss[i] = static_cast<T>(loss_of(sums, x[target], n, rows.smoothing));
    if constexpr (kWithGradient) {
      gradient_row(sums, x, n, target, rows.smoothing, scale, dx_row);
    }
  }
}

// dx = dy * dlogits in rows that count, dy[i * dy_step] being row i's.
template <typename T>
inline void scale_rows(
    Rows<T> rows,
    int64_t begin,
    int64_t end,
    const T* dy,
    int64_t dy_step,
    T* dx) {
  for (int64_t i = begin; i < end; ++i) {
    const T* const from = rows.x + i * rows.n;
    T* const to = dx + i * rows.n;
    const T d = dy[i * dy_step];
    const bool ignored = rows.targets[i] == rows.ignore_index;
#pragma omp simd
    for (int64_t k = 0; k < rows.n; ++k) {
      to[k] = ignored ? T(0) : d * from[k];
    }
  }
}

// Both lie densely; x is [..., n].
template <typename T>
Rows<T> rows_of(
    const Tensor& x,
    const Tensor& targets,
    const CrossEntropyOptions& options) {
  return {
      x.data<T>(),
      targets.data<int64_t>(),
      targets.numel(),
      x.shape().back(),
      options.ignore_index,
      options.label_smoothing};
}

CrossEntropyForward forward(
    const Tensor& logits,
    const Tensor& targets,
    const CrossEntropyOptions& options,
    bool with_gradient) {
  const double smoothing = options.label_smoothing;
  if (!(smoothing >= 0 && smoothing <= 1)) {
    fail("cross_entropy", "label_smoothing must be in [0, 1], got ", smoothing);
  }
  const int64_t counted = check_class_targets(
      "cross_entropy", logits, targets, options.ignore_index);
  CrossEntropyForward result{
      Tensor(targets.shape(), logits.dtype()), Tensor(), counted};
  visit_floating("cross_entropy", logits.dtype(), [&]<typename T>(TypeTag<T>) {
    const Tensor dense = logits.contiguous();
    const Tensor dense_targets = targets.contiguous();
    const Rows<T> rows = rows_of<T>(dense, dense_targets, options);
    if (with_gradient) {
      result.dlogits = Tensor(logits.shape(), logits.dtype());
    }
    T* const dx = with_gradient ? result.dlogits.mutable_data<T>() : nullptr;
    T* const loss = result.loss.mutable_data<T>();
    const double scale = options.reduction == Reduction::mean && counted > 0
                             ? 1 / static_cast<double>(counted)
                             : 1;
    parallel_for(
        targets.numel(),
        grain_for(rows.n * kCost),
        [&](int64_t begin, int64_t end) {
          if (with_gradient) {
            simd::call<loss_rows<true, T>>(rows, begin, end, scale, loss, dx);
          } else {
            simd::call<loss_rows<false, T>>(rows, begin, end, scale, loss, dx);
          }
        });
  });
  if (options.reduction != Reduction::none) {
    result.loss = sum(result.loss);
  }
  if (options.reduction == Reduction::mean && counted > 0) {
    result.loss.div_(static_cast<double>(counted));
  }
  return result;
}

}  // namespace

Tensor cross_entropy(
    const Tensor& logits,
    const Tensor& targets,
    const CrossEntropyOptions& options) {
  return forward(logits, targets, options, false).loss;
}

CrossEntropyForward cross_entropy_forward(
    const Tensor& logits,
    const Tensor& targets,
    const CrossEntropyOptions& options) {
  return forward(logits, targets, options, true);
}

Tensor cross_entropy_backward(
    const Tensor& dy,
    const Tensor& dlogits,
    const Tensor& targets,
    const CrossEntropyOptions& options) {
  constexpr const char* kWho = "cross_entropy_backward";
  check_same_dtype(kWho, dy, dlogits);
  check_defined(kWho, targets, "targets");
  const bool reduces = options.reduction != Reduction::none;
  const int64_t rank = dlogits.dim();
  if (dy.shape() != (reduces ? Shape() : targets.shape()) || rank == 0 ||
      targets.shape() != reduced_shape(dlogits.shape(), {rank - 1}, false)) {
    fail(
        kWho,
        "dlogits, targets and dy must be those of the forward, got ",
        dlogits.shape(),
        ", ",
        targets.shape(),
        " and ",
        dy.shape());
  }
  if (reduces && dy.item<double>() == 1) {
    return dlogits;
  }
  Tensor dx(dlogits.shape(), dlogits.dtype());
  visit_floating(kWho, dlogits.dtype(), [&]<typename T>(TypeTag<T>) {
    const Tensor dense = dlogits.contiguous();
    const Tensor dense_targets = targets.contiguous();
    const Tensor dense_dy = dy.contiguous();
    const Rows<T> rows = rows_of<T>(dense, dense_targets, options);
    const T* const d = dense_dy.data<T>();
    const int64_t step = reduces ? 0 : 1;
    T* const to = dx.mutable_data<T>();
    parallel_for(
        targets.numel(), grain_for(rows.n), [&](int64_t begin, int64_t end) {
          simd::call<scale_rows<T>>(rows, begin, end, d, step, to);
        });
  });
  return dx;
}

}  // namespace heed
