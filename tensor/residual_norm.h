#pragma once

#include "tensor/dropout.h"
#include "tensor/layer_norm.h"

namespace heed {

/// A residual connection and the norm behind it (Vaswani et al. 2017,
/// arXiv:1706.03762, section 3.1), in one pass:
///
///     y = layer_norm(x + dropout(branch))
///
/// Shape: x [..., *normalized], branch of x's shape, weight and bias
///        [*normalized] -> that of x
/// Weight and bias may be undefined. Throws std::invalid_argument as
/// add_dropout and layer_norm.
Tensor residual_norm(
    const Tensor& x,
    const Tensor& branch,
    const DropoutDraw& draw,
    const Shape& normalized,
    const Tensor& weight,
    const Tensor& bias,
    double eps = 1e-5);

/// residual_norm and what its backward needs; throws as residual_norm.
LayerNormForward residual_norm_forward(
    const Tensor& x,
    const Tensor& branch,
    const DropoutDraw& draw,
    const Shape& normalized,
    const Tensor& weight,
    const Tensor& bias,
    double eps);

struct ResidualNormGradients {
  Tensor dx;
  Tensor dbranch;  ///< dropout(dx); dx itself when nothing is dropped.
  Tensor dweight;  ///< [*normalized]
  Tensor dbias;    ///< [*normalized]
};

/// The gradients of residual_norm in one pass: those of layer_norm at
/// x + dropout(branch), which is added up again.
///
/// Shape: dy, x and branch [..., *normalized], weight [*normalized] or
///        undefined, mean and rstd [rows] as from residual_norm_forward
/// Throws std::invalid_argument unless the shapes and dtypes are those.
ResidualNormGradients residual_norm_backward(
    const Tensor& dy,
    const Tensor& x,
    const Tensor& branch,
    const DropoutDraw& draw,
    const Shape& normalized,
    const Tensor& weight,
    const Tensor& mean,
    const Tensor& rstd);

}  // namespace heed
