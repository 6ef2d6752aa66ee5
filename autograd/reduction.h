#pragma once

#include "autograd/variable.h"

namespace heed {

// The reductions of tensor/reduction.h (which see), with their derivatives. dy
// stands for the gradient of the result, repeated over the reduced dimensions.

/// dx = dy.
Variable sum(const Variable& x);
Variable sum(const Variable& x, const Dims& dims, bool keepdim = false);

/// dx = dy, repeated to the shape of x.
Variable sum_to(const Variable& x, const Shape& shape);

}  // namespace heed
