#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace heed {

/// A copy with zeros above a diagonal of the last two dimensions: what stays is
/// column - row <= diagonal. 0 is the main diagonal, 1 the one above it.
/// Shape: [..., M, N] -> [..., M, N].
/// Throws std::invalid_argument unless x has two dimensions or more.
Tensor tril(const Tensor& x, int64_t diagonal = 0);

/// A copy with zeros below a diagonal of the last two dimensions: what stays is
/// column - row >= diagonal. triu(ones, 1) of dtype bool is the causal mask.
/// Shape: [..., M, N] -> [..., M, N].
/// Throws std::invalid_argument unless x has two dimensions or more.
Tensor triu(const Tensor& x, int64_t diagonal = 0);

}  // namespace heed
