#include "tensor/class_targets.h"

#include <atomic>

#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tensor/reduction.h"

namespace heed {

int64_t check_class_targets(
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

}  // namespace heed
