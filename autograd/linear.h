#pragma once

#include "autograd/variable.h"
#include "tensor/linear.h"

namespace heed {

/// Differentiable linear, with N rows in x:
///
///     dx = dy weight,  dweight = dy^T x,  dbias = sum of dy's rows
///
/// An undefined bias adds nothing.
Variable linear(
    const Variable& x, const Variable& weight, const Variable& bias = {});

}  // namespace heed
