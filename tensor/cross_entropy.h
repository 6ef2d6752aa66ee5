#pragma once

#include <cstdint>

#include "tensor/loss_reduction.h"
#include "tensor/tensor.h"

namespace heed {

struct CrossEntropyOptions {
  int64_t ignore_index = -100;  ///< Targets of this value are not counted.
  double label_smoothing = 0;   ///< In [0, 1].
  Reduction reduction = Reduction::mean;
};

/// Cross-entropy of class targets, straight from logits:
///
///     loss = -sum_j q_j log softmax(logits)_j
///     q_j = (1 - label_smoothing) [j = target] + label_smoothing / V
///
/// Smoothing spreads its mass over all V classes, the target too (Szegedy et
/// al. 2016, arXiv:1512.00567; as PyTorch does). A banned class, its logit
/// being -inf, counts as 0 in the smoothed part: only a banned target makes the
/// loss infinite. Without a class that is allowed all probabilities are 0. An
/// ignored target has loss 0 whatever its logits are; the mean is over the
/// others, and 0 when there are none. Shape: logits [..., V], targets int64
/// [...] -> [], or [...] without reduction Throws std::invalid_argument unless
/// shapes and dtypes are those and each target is in [0, V) or ignore_index.
Tensor cross_entropy(
    const Tensor& logits,
    const Tensor& targets,
    const CrossEntropyOptions& options = {});

/// cross_entropy and its gradient, made in the same pass over memory.
struct CrossEntropyForward {
  Tensor loss;
  Tensor dlogits;       ///< Of each row's loss; for the mean, of its share.
  int64_t counted = 0;  ///< Targets that are not ignored.
};

/// With p = softmax(logits), and sums and q over classes that are not banned,
/// divided by `counted` for the mean:
///
///     dlogits = p * sum(q) - q
CrossEntropyForward cross_entropy_forward(
    const Tensor& logits,
    const Tensor& targets,
    const CrossEntropyOptions& options);

/// The gradient of the logits given that of the loss, dy: dy * dlogits, which
/// is dlogits itself if dy is a single 1. Ignored rows are 0, whatever
/// dy. Throws std::invalid_argument unless shapes and dtypes are the forward's.
Tensor cross_entropy_backward(
    const Tensor& dy,
    const Tensor& dlogits,
    const Tensor& targets,
    const CrossEntropyOptions& options);

}  // namespace heed
