#pragma once

#include "autograd/variable.h"
#include "tensor/matmul.h"

namespace heed {

/// Differentiable matmul: da = dy b^T, db = a^T dy, summed over the batches
/// that a or b was repeated for.
Variable matmul(const Variable& a, const Variable& b);

}  // namespace heed
