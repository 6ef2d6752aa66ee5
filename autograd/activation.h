#pragma once

#include "autograd/variable.h"
#include "tensor/activation.h"

namespace heed {

// The activations of tensor/activation.h, which see, with their derivatives.

Variable tanh(const Variable& x);
Variable sigmoid(const Variable& x);
/// The derivative at 0 is 0.
Variable relu(const Variable& x);
Variable normal_cdf(const Variable& x);
Variable gelu(
    const Variable& x,
    GeluApproximation approximation = GeluApproximation::none);
Variable silu(const Variable& x);

}  // namespace heed
