#pragma once

#include "tensor/tensor.h"

namespace heed {

/// Layer normalisation over the last dimensions, those of `weight` (Ba et al.
/// 2016, arXiv:1607.06450):
///
///     y = (x - mean) / sqrt(var + eps) * weight + bias
///
/// `var` divides by the number of elements, not by one less, and is taken of
/// x - mean, so that a large mean does not cancel.
/// Shape: x [..., *normalized], weight and bias [*normalized] -> that of x
/// Throws std::invalid_argument unless the shapes and dtypes are those, and
/// eps > 0. An undefined bias is none.
Tensor layer_norm(
    const Tensor& x,
    const Tensor& weight,
    const Tensor& bias,
    double eps = 1e-5);
/// As above; weight and bias may both be undefined.
Tensor layer_norm(
    const Tensor& x,
    const Shape& normalized,
    const Tensor& weight,
    const Tensor& bias,
    double eps = 1e-5);

/// What layer_norm computes on the way and its backward needs.
struct LayerNormForward {
  Tensor y;
  Tensor mean;  ///< Of each row of x, float64, [rows].
  Tensor rstd;  ///< 1 / sqrt(var + eps) of each row, float64, [rows].
};

/// layer_norm and what its backward needs; throws as layer_norm.
LayerNormForward layer_norm_forward(
    const Tensor& x,
    const Shape& normalized,
    const Tensor& weight,
    const Tensor& bias,
    double eps);

struct LayerNormGradients {
  Tensor dx;
  Tensor dweight;  ///< [*normalized]
  Tensor dbias;    ///< [*normalized]
};

/// The gradients of layer_norm in one pass. With xhat = (x - mean) * rstd and
/// g = dy * weight, means being taken over a row:
///
///     dx = rstd * (g - mean(g) - xhat * mean(g * xhat))
///     dweight = sum of dy * xhat over rows,  dbias = sum of dy over rows
///
/// Shape: dy and x [..., *normalized], weight [*normalized] or undefined, mean
///        and rstd [rows] as from layer_norm_forward
/// Throws std::invalid_argument unless the shapes and dtypes are those.
LayerNormGradients layer_norm_backward(
    const Tensor& dy,
    const Tensor& x,
    const Shape& normalized,
    const Tensor& weight,
    const Tensor& mean,
    const Tensor& rstd);

}  // namespace heed
