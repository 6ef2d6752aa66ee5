#include "autograd/losses.h"

#include <algorithm>

#include "autograd/elementwise.h"
#include "autograd/record.h"
#include "autograd/reduction.h"
#include "tensor/class_targets.h"
#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/reduction.h"

namespace heed {
namespace {

Variable reduced(const Variable& losses, Reduction reduction) {
  switch (reduction) {
    case Reduction::mean:
      return mean(losses);
    case Reduction::sum:
      return sum(losses);
    case Reduction::none:
      break;
  }
  return losses;
}

// `names` are those of the two arguments.
void check_targets_like(
    std::string_view who,
    std::string_view names,
    const Tensor& x,
    const Tensor& targets) {
  check_same_dtype(who, x, targets);
  visit_floating(who, x.dtype(), [](auto) {});
  if (x.shape() != targets.shape()) {
    fail(
        who,
        names,
        " must have one shape, got ",
        x.shape(),
        " and ",
        targets.shape());
  }
}

}  // namespace

Variable nll_loss(
    const Variable& log_probs,
    const Tensor& targets,
    const NllOptions& options) {
  const Tensor& x = log_probs.value();
  const int64_t counted =
      check_class_targets("nll_loss", x, targets, options.ignore_index);
  visit_floating("nll_loss", x.dtype(), [](auto) {});
  const Tensor ignored = eq(targets, options.ignore_index);
  const Tensor ids = masked_fill(targets, ignored, -1).unsqueeze(-1);
  const Tensor hit = eq(ids, arange(x.shape().back()));  // [..., V]
  // where() rather than a product: -inf elsewhere plays no part.
  const Variable losses = -sum(where(hit, log_probs, 0), -1);  // [...]
  if (options.reduction == Reduction::none) {
    return losses;
  }
  const bool is_mean = options.reduction == Reduction::mean;
  return sum(losses) /
         static_cast<double>(is_mean ? std::max<int64_t>(1, counted) : 1);
}

Variable mse_loss(
    const Variable& x, const Variable& target, Reduction reduction) {
  check_targets_like("mse_loss", "x and target", x.value(), target.value());
  const Variable distance = x - target;
  return reduced(distance * distance, reduction);
}

Variable bce_with_logits(
    const Variable& logits, const Tensor& targets, const BceOptions& options) {
  check_targets_like(
      "bce_with_logits", "logits and targets", logits.value(), targets);
  const Tensor& x = logits.value();
  // log(s) = -softplus(-x), log(1 - s) = -x - softplus(-x), and
  // softplus(-x) = log(1 + exp(-|x|)) + max(-x, 0) cannot overflow.
  const Tensor softplus = log1p(exp(-abs(x))) + relu(-x);
  const Tensor negative = 1 - targets;
  Tensor weight = ones({}, x.dtype());  // of softplus
  if (options.pos_weight.defined()) {
    check_same_dtype("bce_with_logits", x, options.pos_weight);
    if (!is_broadcastable_to(options.pos_weight.shape(), x.shape())) {
      fail(
          "bce_with_logits",
          "pos_weight must broadcast to the logits ",
          x.shape(),
          ", got ",
          options.pos_weight.shape());
    }
    weight = 1 + (options.pos_weight - 1) * targets;
  }
  const Variable losses = record(
      "bce_with_logits",
      negative * x + weight * softplus,
      {{logits, [x = saved(logits), negative, weight](const Variable& dy) {
          // dx = dy * ((1 - t) - (1 + (pos_weight - 1) * t) * sigmoid(-x))
          return dy * (negative - weight * sigmoid(-x.get()));
        }}});
  return reduced(losses, options.reduction);
}

}  // namespace heed
