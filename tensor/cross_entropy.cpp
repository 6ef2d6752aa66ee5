#include "tensor/cross_entropy.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "tensor/creation.h"
#include "tensor/lanes.h"
#include "tensor/parallel.h"
#include "tensor/reduction.h"
#include "tensor/simd.h"
#include "tensor/vector_math.h"

namespace heed {
namespace {

constexpr int64_t kCost = 4;   // simple operations an element
constexpr int64_t kStats = 3;  // numbers kept of each row

// Rows of logits and their targets.
template <typename T>
struct Rows {
  const T* logits;  // [rows, n]
  const int64_t* targets;
  int64_t n;
  int64_t ignore_index;
  double smoothing;
};

template <typename T>
[[gnu::always_inline]] inline bool allowed(T logit) {
  return logit != -std::numeric_limits<T>::infinity();
}

// -sum(q * log softmax(x)); log softmax(x)_j = (x_j - most) - log_total, where
// most may be too large for log_total to be added to it.
template <typename T>
[[gnu::always_inline]] inline double loss_row(
    const T* x, int64_t n, int64_t target, double smoothing, T* stats) {
  const T most = lane_max(x, n);
  double total = 0;
  double distance = 0;  // sum of most - x over allowed classes
  double count = 0;     // of those
  if (smoothing > 0) {
    const auto sums =
        lane_sums<T, 3>(n, [=](int64_t i, T& exps, T& below, T& counted) {
          const T d = x[i] - most;
          exps += vector_math::exp(d);
          below -= allowed(x[i]) ? d : T(0);
          counted += allowed(x[i]) ? T(1) : T(0);
        });
    total = sums[0];
    distance = sums[1];
    count = sums[2];
  } else {
    total =
        lane_sum(n, [=](int64_t i) { return vector_math::exp(x[i] - most); });
  }
  const double log_total = std::log(total);
  double loss = 0;
  double mass = 1;
  if (smoothing < 1) {
    loss = (1 - smoothing) *
           ((static_cast<double>(most) - static_cast<double>(x[target])) +
            log_total);
  }
  if (smoothing > 0) {
    const double share = smoothing / static_cast<double>(n);
    loss += share * (distance + count * log_total);
    mass = 1 - smoothing + share * count;
  }
  stats[0] = most;
  stats[1] = static_cast<T>(log_total);
  stats[2] = static_cast<T>(mass);
  return loss;
}

template <typename T>
inline void loss_rows(
    Rows<T> rows, int64_t begin, int64_t end, T* loss, T* stats) {
  for (int64_t i = begin; i < end; ++i) {
    loss[i] = rows.targets[i] == rows.ignore_index
                  ? T(0)
                  : static_cast<T>(loss_row(
                        rows.logits + i * rows.n,
                        rows.n,
                        rows.targets[i],
                        rows.smoothing,
                        stats + i * kStats));
  }
}

// dx = dy * (softmax(x) * sum(q) - q)
template <typename T>
[[gnu::always_inline]] inline void backward_row(
    const T* x,
    const T* stats,
    int64_t n,
    int64_t target,
    double smoothing,
    T dy,
    T* dx) {
  const T most = stats[0];
  const T log_total = stats[1];
  const T mass = stats[2];
  const T share = static_cast<T>(smoothing / static_cast<double>(n));
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const T p = vector_math::exp((x[i] - most) - log_total);
    dx[i] = dy * (p * mass - (allowed(x[i]) ? share : T(0)));
  }
  dx[target] -= dy * static_cast<T>(1 - smoothing);
}

// dy[i * dy_step] / divisor is the gradient of row i's loss.
template <typename T>
inline void backward_rows(
    Rows<T> rows,
    int64_t begin,
    int64_t end,
    const T* stats,
    const T* dy,
    int64_t dy_step,
    T divisor,
    T* dx) {
  for (int64_t i = begin; i < end; ++i) {
    T* const to = dx + i * rows.n;
    if (rows.targets[i] == rows.ignore_index) {
      std::fill_n(to, rows.n, T(0));
      continue;
    }
    backward_row(
        rows.logits + i * rows.n,
        stats + i * kStats,
        rows.n,
        rows.targets[i],
        rows.smoothing,
        dy[i * dy_step] / divisor,
        to);
  }
}

}  // namespace

int64_t check_targets(
    std::string_view who,
    const Tensor& scores,
    const Tensor& targets,
    int64_t ignore_index) {
  check_defined(who, scores, "the first argument");
  check_defined(who, targets, "targets");
  if (targets.dtype() != kInt64) {
    fail(who, "targets must have dtype int64, got ", targets.dtype());
  }
  const int64_t rank = scores.dim();
  if (rank == 0 ||
      targets.shape() != reduced_shape(scores.shape(), {rank - 1}, false)) {
    fail(
        who,
        "targets must have the shape of the scores without their last "
        "dimension, the classes, got ",
        targets.shape(),
        " for scores ",
        scores.shape());
  }
  const int64_t classes = scores.shape().back();
  const Tensor dense = targets.contiguous();
  const int64_t* const t = dense.data<int64_t>();
  std::atomic<int64_t> counted{0};
  parallel_for(targets.numel(), grain_for(1), [&](int64_t i, int64_t end) {
    int64_t here = 0;
    for (; i < end; ++i) {
      if (t[i] == ignore_index) {
        continue;
      }
      if (t[i] < 0 || t[i] >= classes) {
        fail(
            who,
            "targets must be in [0, ",
            classes,
            ") or the ignored ",
            ignore_index,
            ", got ",
            t[i],
            " at position ",
            i);
      }
      ++here;
    }
    counted += here;
  });
  return counted;
}

Tensor cross_entropy(
    const Tensor& logits,
    const Tensor& targets,
    const CrossEntropyOptions& options) {
  return cross_entropy_forward(logits, targets, options).loss;
}

CrossEntropyForward cross_entropy_forward(
    const Tensor& logits,
    const Tensor& targets,
    const CrossEntropyOptions& options) {
  const double smoothing = options.label_smoothing;
  if (!(smoothing >= 0 && smoothing <= 1)) {
    fail("cross_entropy", "label_smoothing must be in [0, 1], got ", smoothing);
  }
  const int64_t counted =
      check_targets("cross_entropy", logits, targets, options.ignore_index);
  return visit_floating(
      "cross_entropy", logits.dtype(), [&]<typename T>(TypeTag<T>) {
        const int64_t n = logits.shape().back();
        const int64_t rows = targets.numel();
        const Tensor dense = logits.contiguous();
        const Tensor dense_targets = targets.contiguous();
        Tensor losses(targets.shape(), logits.dtype());
        Tensor stats = zeros({rows, kStats}, logits.dtype());
        const Rows<T> all{
            dense.data<T>(),
            dense_targets.data<int64_t>(),
            n,
            options.ignore_index,
            smoothing};
        T* const loss = losses.mutable_data<T>();
        T* const kept = stats.mutable_data<T>();
        parallel_for(
            rows, grain_for(n * kCost), [&](int64_t begin, int64_t end) {
              simd::call<loss_rows<T>>(all, begin, end, loss, kept);
            });
        if (options.reduction != Reduction::none) {
          losses = sum(losses);
        }
        if (options.reduction == Reduction::mean && counted > 0) {
          losses.div_(static_cast<double>(counted));
        }
        return CrossEntropyForward{losses, stats, counted};
      });
}

Tensor cross_entropy_backward(
    const Tensor& dy,
    const Tensor& logits,
    const Tensor& targets,
    const CrossEntropyForward& forward,
    const CrossEntropyOptions& options) {
  constexpr const char* kWho = "cross_entropy_backward";
  check_same_dtype(kWho, dy, logits);
  check_defined(kWho, targets, "targets");
  check_defined(kWho, forward.rows, "forward.rows");
  const int64_t count = targets.numel();
  const Shape loss =
      options.reduction == Reduction::none ? targets.shape() : Shape();
  if (dy.shape() != loss || logits.dim() == 0 ||
      count * logits.shape().back() != logits.numel() ||
      forward.rows.shape() != Shape({count, 3})) {
    fail(
        kWho,
        "logits, targets and dy must be those of the forward, got ",
        logits.shape(),
        ", ",
        targets.shape(),
        " and ",
        dy.shape());
  }
  return visit_floating(
      "cross_entropy", logits.dtype(), [&]<typename T>(TypeTag<T>) {
        const int64_t n = logits.shape().back();
        const int64_t rows = targets.numel();
        const Tensor dense = logits.contiguous();
        const Tensor dense_targets = targets.contiguous();
        const Tensor dense_dy = dy.contiguous();
        Tensor dlogits(logits.shape(), logits.dtype());
        const Rows<T> all{
            dense.data<T>(),
            dense_targets.data<int64_t>(),
            n,
            options.ignore_index,
            options.label_smoothing};
        const T* const g = dense_dy.data<T>();
        const T* const kept = forward.rows.data<T>();
        T* const dx = dlogits.mutable_data<T>();
        const int64_t step = options.reduction == Reduction::none ? 1 : 0;
        const T divisor = options.reduction == Reduction::mean
                              ? static_cast<T>(forward.counted)
                              : T(1);
        parallel_for(
            rows, grain_for(n * kCost), [&](int64_t begin, int64_t end) {
              simd::call<backward_rows<T>>(
                  all, begin, end, kept, g, step, divisor, dx);
            });
        return dlogits;
      });
}

}  // namespace heed
