#include "autograd/cross_entropy.h"

#include <algorithm>
#include <limits>

#include "autograd/elementwise.h"
#include "autograd/grad_mode.h"
#include "autograd/record.h"
#include "autograd/softmax.h"
#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/reduction.h"

namespace heed {
namespace {

// q of each row: 0 for banned classes and in ignored rows.
Tensor target_distribution(
    const Tensor& logits,
    const Tensor& targets,
    const CrossEntropyOptions& options) {
  const int64_t classes = logits.shape().back();
  const double smoothing = options.label_smoothing;
  const Tensor ids =
      masked_fill(targets, eq(targets, options.ignore_index), -1).unsqueeze(-1);
  const Tensor hit = eq(ids, arange(classes));  // [..., V]
  Tensor q = full(
      logits.shape(), smoothing / static_cast<double>(classes), logits.dtype());
  q.masked_fill_(eq(logits, -std::numeric_limits<double>::infinity()), 0);
  q.add_(hit.to(logits.dtype()), 1 - smoothing);
  return q.masked_fill_(eq(ids, -1), 0);
}

}  // namespace

Variable cross_entropy(
    const Variable& logits,
    const Tensor& targets,
    const CrossEntropyOptions& options) {
  if (!grad_enabled() || !logits.requires_grad()) {
    return cross_entropy(logits.value(), targets, options);
  }
  const auto [loss, dlogits, counted] =
      cross_entropy_forward(logits.value(), targets, options);
  return record(
      "cross_entropy",
      loss,
      {{logits,
        [logits = saved(logits),
         targets = saved(targets),
         dlogits = saved(dlogits),
         divisor = options.reduction == Reduction::mean
                       ? static_cast<double>(std::max<int64_t>(1, counted))
                       : 1.0,
         options](const Variable& dy) -> Variable {
          if (!grad_enabled()) {
            return cross_entropy_backward(
                dy.value(), dlogits, targets, options);
          }
          // dlogits = dy * (softmax(logits) * sum(q) - q)
          const Tensor& x = logits.get().value();
          const Tensor ignored =
              eq(targets, options.ignore_index).unsqueeze(-1);
          const Tensor q = target_distribution(x, targets, options);
          const Tensor mass = sum(q, {-1}, true);
          const Variable p = softmax(masked_fill(logits, ignored, 0), -1);
          const Variable each =
              options.reduction == Reduction::none ? dy.unsqueeze(-1) : dy;
          return each / divisor * (p * mass - q);
        }}});
}

}  // namespace heed
