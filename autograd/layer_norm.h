#pragma once

#include "autograd/variable.h"
#include "tensor/layer_norm.h"

namespace heed {

// layer_norm of tensor/layer_norm.h, which see, with the derivatives given
// there.

Variable layer_norm(
    const Variable& x,
    const Variable& weight,
    const Variable& bias,
    double eps = 1e-5);
Variable layer_norm(
    const Variable& x,
    const Shape& normalized,
    const Variable& weight,
    const Variable& bias,
    double eps = 1e-5);

}  // namespace heed
