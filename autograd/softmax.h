#pragma once

#include "autograd/variable.h"
#include "tensor/softmax.h"

namespace heed {

// softmax and log_softmax of tensor/softmax.h, which see, with their
// derivatives.

/// dx = y * (dy - sum(dy * y)); 0 for a line of -inf only.
Variable softmax(const Variable& x, int64_t dim);

/// dx = dy - exp(y) * sum(dy).
Variable log_softmax(const Variable& x, int64_t dim);

}  // namespace heed
