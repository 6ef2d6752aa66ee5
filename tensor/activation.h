#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace heed {

/// How gelu works out the normal distribution function.
enum class GeluApproximation : uint8_t {
  none,  ///< By erf.
  tanh,  ///< 0.5 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
};

// Activations, element by element, of floating tensors; std::invalid_argument
// for others. Shape: [*] -> [*]

/// Hyperbolic tangent.
Tensor tanh(const Tensor& x);
/// Logistic function 1 / (1 + e^-x).
Tensor sigmoid(const Tensor& x);
/// max(x, 0). Takes int64 too.
Tensor relu(const Tensor& x);
/// P(X <= x) for X of the standard normal distribution.
Tensor normal_cdf(const Tensor& x);
/// x P(X <= x) for X of the standard normal distribution (Hendrycks and Gimpel
/// 2016, arXiv:1606.08415).
Tensor gelu(
    const Tensor& x, GeluApproximation approximation = GeluApproximation::none);
/// x sigmoid(x), also called swish (Elfwing et al. 2017, arXiv:1702.03118).
Tensor silu(const Tensor& x);

// The gradient of x, in one pass over memory, given the gradient dy of the
// result and x, or the result y where that is enough. Shape: both [*] -> [*];
// std::invalid_argument for two dtypes or one that is not floating.

/// dx = dy (1 - y^2)
Tensor tanh_backward(const Tensor& dy, const Tensor& y);
/// dx = dy y (1 - y)
Tensor sigmoid_backward(const Tensor& dy, const Tensor& y);
/// dx = dy where y > 0 or y is NaN, 0 elsewhere.
Tensor relu_backward(const Tensor& dy, const Tensor& y);
/// dx = dy (P(X <= x) + x p(x)), p being the density of X.
Tensor gelu_backward(
    const Tensor& dy, const Tensor& x, GeluApproximation approximation);
/// dx = dy s (1 + x (1 - s)), s = sigmoid(x)
Tensor silu_backward(const Tensor& dy, const Tensor& x);

}  // namespace heed
