#pragma once

#include "tensor/tensor.h"

namespace heed {

/// Softmax along `dim`:
///
///     y = exp(x) / sum(exp(x))
///
/// taken of x - max(x), so that nothing overflows. A line of -inf only (every
/// key masked) gives zeros; a line with NaN or +inf in it is NaN, no other is.
/// Shape: x [*] -> [*]
/// Throws std::invalid_argument unless x is floating and has that dimension.
Tensor softmax(const Tensor& x, int64_t dim);

/// The logarithm of softmax along `dim`, precise where that is close to 0 or 1:
///
///     y = x - log(sum(exp(x)))
///
/// A line of -inf only stays -inf: the logarithm of the zeros of softmax.
/// Shape: x [*] -> [*]
/// Throws std::invalid_argument unless x is floating and has that dimension.
Tensor log_softmax(const Tensor& x, int64_t dim);

/// dx = y * (dy - sum(dy * y)), y being softmax(x, dim); one pass.
Tensor softmax_backward(const Tensor& dy, const Tensor& y, int64_t dim);

/// dx = dy - exp(y) * sum(dy), y being log_softmax(x, dim); one pass.
Tensor log_softmax_backward(const Tensor& dy, const Tensor& y, int64_t dim);

}  // namespace heed
