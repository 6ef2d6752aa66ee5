#pragma once

#include "autograd/cross_entropy.h"
#include "autograd/variable.h"
#include "tensor/loss_reduction.h"

namespace heed {

struct NllOptions {
  int64_t ignore_index = -100;  ///< Targets of this value are not counted.
  Reduction reduction = Reduction::mean;
};

/// Negative log-likelihood of class targets:
///
///     loss = -log_probs[target]
///
/// An ignored target has loss 0; the mean is over the others, and 0 when there
/// are none.
/// Shape: log_probs [..., V], targets int64 [...] -> [], or [...] without
/// reduction
/// Throws std::invalid_argument unless shapes and dtypes are those and each
/// target is in [0, V) or ignore_index.
Variable nll_loss(
    const Variable& log_probs,
    const Tensor& targets,
    const NllOptions& options = {});

/// Squared distance: loss = (x - target)^2.
/// Shape: x [*], target [*] -> [], or [*] without reduction
/// Throws std::invalid_argument for different shapes or dtypes.
Variable mse_loss(
    const Variable& x,
    const Variable& target,
    Reduction reduction = Reduction::mean);

struct BceOptions {
  /// Times the loss of positives; broadcasts to the logits. Undefined: 1.
  Tensor pos_weight = {};
  Reduction reduction = Reduction::mean;
};

/// Binary cross-entropy of sigmoid(logits), for logits of any size:
///
///     loss = -(pos_weight * t * log(s) + (1 - t) * log(1 - s)), s = sigmoid(x)
///     dx = dy * ((1 - t) - (1 + (pos_weight - 1) * t) * sigmoid(-x))
///
/// `targets` are probabilities.
/// Shape: logits [*], targets [*] -> [], or [*] without reduction
/// Throws std::invalid_argument for different shapes or dtypes.
Variable bce_with_logits(
    const Variable& logits,
    const Tensor& targets,
    const BceOptions& options = {});

}  // namespace heed
