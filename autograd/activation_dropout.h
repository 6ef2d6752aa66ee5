#pragma once

#include "autograd/variable.h"
#include "tensor/activation_dropout.h"

namespace heed {

// Differentiable activations with dropout behind them, dropout(activation(x)),
// forward and backward in one pass each.

/// dx = dy / (1 - p) where y > 0: keeps y alone.
Variable relu_dropout(const Variable& x, const DropoutDraw& draw);
/// dx = dropout(dy) * gelu'(x)
Variable gelu_dropout(
    const Variable& x,
    GeluApproximation approximation,
    const DropoutDraw& draw);

}  // namespace heed
