#pragma once

#include "tensor/tensor.h"

namespace heed {

/// Affine map, one matrix product whatever the rank of x:
///
///     y = x weight^T + bias
///
/// Shape: x [..., in], weight [out, in], bias [out] -> y [..., out].
/// An undefined bias adds nothing.
/// Throws std::invalid_argument for what does not fit.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace heed
