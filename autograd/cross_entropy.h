#pragma once

#include "autograd/variable.h"
#include "tensor/cross_entropy.h"

namespace heed {

/// cross_entropy of tensor/cross_entropy.h, which see, with its derivative:
///
///     dlogits = dy * (softmax(logits) * sum(q) - q)
///
/// exactly 0 in the rows of ignored targets. Where a gradient will be wanted it
/// is made together with the loss, in one pass over the logits, and kept; they
/// are kept too, for derivatives of higher order.
Variable cross_entropy(
    const Variable& logits,
    const Tensor& targets,
    const CrossEntropyOptions& options = {});

}  // namespace heed
