#pragma once

#include "tensor/tensor.h"

namespace heed {

/// Matrix product by NumPy's rule: the last two dimensions are multiplied, the
/// others broadcast; a vector counts as one row on the left, as one column on
/// the right, and its dimension is gone from the result.
///
///     y[..., i, j] = sum_k a[..., i, k] b[..., k, j]
///
/// Transposed and sliced operands are read where they lie; a batch of matrices
/// times one matrix is a single product.
///
/// Shape: a [..., M, K], b [..., K, N] -> y [..., M, N].
/// Throws std::invalid_argument unless both have one floating dtype, at least
/// one dimension and shapes that fit.
Tensor matmul(const Tensor& a, const Tensor& b);

/// As matmul, written to y, or added to it when `add` is true. y must be dense,
/// have the product's shape and share no memory with a and b; neither a nor b
/// is a vector.
/// Throws std::invalid_argument for another dtype or for shapes that do not
/// fit.
void matmul_into(Tensor& y, const Tensor& a, const Tensor& b, bool add = false);

}  // namespace heed
