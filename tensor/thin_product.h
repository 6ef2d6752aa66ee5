#pragma once

#include "tensor/gemm.h"

namespace heed {

/// Whether multiply_thin can compute a product: few rows times the transpose of
/// a matrix, which is what a Linear layer does with a small batch, with alpha =
/// 1 and beta 0 or 1. BLAS packs all of B for each product, and for few rows
/// this costs as much as the product itself.
template <typename T>
bool is_thin(const Gemm<T>& product);

/// C^T = B A^T, B being read once, as it lies, by rows that stay in registers.
/// Shared out among threads by size; an element does not depend on the other
/// rows of A. product must be thin.
template <typename T>
void multiply_thin(const Gemm<T>& product);

}  // namespace heed
