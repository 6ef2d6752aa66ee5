#pragma once

#include "autograd/variable.h"
#include "tensor/cross_entropy.h"

namespace heed {

/// cross_entropy of tensor/cross_entropy.h, which see, with its derivative:
///
///     dlogits = dy * (softmax(logits) * sum(q) - q)
///
/// exactly 0 in the rows of ignored targets. Backward keeps the logits and
/// three numbers a row, no matrix of probabilities.
Variable cross_entropy(
    const Variable& logits,
    const Tensor& targets,
    const CrossEntropyOptions& options = {});

}  // namespace heed
