#pragma once

#include "tensor/gemm.h"

namespace heed {

/// Whether multiply_packed is a product's fastest way: it is large, and the
/// level in use is AVX-512. At AVX2 OpenBLAS's kernels are faster.
template <typename T>
bool is_large(const Gemm<T>& product);

/// Computes a product of sizes of at least 1 by kernels of heed's own: B, then
/// blocks of rows of A, are copied into the order in which registers take them.
/// Sums up 128 products at a time in the order of k, so an element depends
/// neither on the other rows and columns nor on the number of threads, in its
/// very bits. Up to 448 rows are shared out to at most four threads.
/// Source: Goto and van de Geijn, "Anatomy of High-Performance Matrix
/// Multiplication", ACM TOMS 34 (2008); threads share the copy of B.
template <typename T>
void multiply_packed(const Gemm<T>& product);

}  // namespace heed
