#pragma once

#include "autograd/variable.h"
#include "tensor/residual_norm.h"

namespace heed {

/// Differentiable residual_norm, layer_norm(x + dropout(branch)), forward and
/// backward in one pass each. The sum is not kept; backward adds it up again.
/// Throws std::invalid_argument as residual_norm of tensors.
Variable residual_norm(
    const Variable& x,
    const Variable& branch,
    const DropoutDraw& draw,
    const Shape& normalized,
    const Variable& weight,
    const Variable& bias,
    double eps = 1e-5);

}  // namespace heed
