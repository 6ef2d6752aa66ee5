#pragma once

#include "tensor/activation.h"
#include "tensor/dropout.h"

namespace heed {

// An activation and dropout behind it, in one pass over memory:
//
//     y = dropout(activation(x))
//
// Shape: x [*] -> y [*]. All throw std::invalid_argument as dropout does.

Tensor relu_dropout(const Tensor& x, const DropoutDraw& draw);
Tensor gelu_dropout(
    const Tensor& x, GeluApproximation approximation, const DropoutDraw& draw);

// The gradient of x given that of y, dy; both of one shape.

/// dx = dy / (1 - p) where y > 0 or y is NaN, 0 elsewhere: what was dropped is
/// 0 in y as well, so no mask is needed.
Tensor relu_dropout_backward(const Tensor& dy, const Tensor& y, double p);
/// dx = dropout(dy) * gelu'(x)
Tensor gelu_dropout_backward(
    const Tensor& dy,
    const Tensor& x,
    GeluApproximation approximation,
    const DropoutDraw& draw);

}  // namespace heed
