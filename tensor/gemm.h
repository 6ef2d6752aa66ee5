#pragma once

#include <cstdint>

namespace heed {

/// A product of row-major matrices
///
///     C = alpha op(A) op(B) + beta C      or, given a bias,
///     C = alpha op(A) op(B) + bias        in each row
///
/// where op transposes when its flag says so. beta = 0 and a bias overwrite C
/// whatever it held, NaN included; alpha = 0 leaves A and B unread.
///
/// Shape:       op(A) [m, k], op(B) [k, n], C [m, n], bias [n]; any of them may
///              be 0
/// Parameters:  lda, ldb, ldc  elements from one row to the next as stored
template <typename T>
struct Gemm {
  bool trans_a = false;
  bool trans_b = false;
  int64_t m;
  int64_t n;
  int64_t k;
  T alpha = 1;
  const T* a;
  int64_t lda;
  const T* b;
  int64_t ldb;
  T beta = 0;
  T* c;
  int64_t ldc;
  const T* bias = nullptr;

  /// The rows [row, row + rows) and columns [col, col + cols) of C.
  Gemm tile(int64_t row, int64_t rows, int64_t col, int64_t cols) const {
    Gemm part = *this;
    part.m = rows;
    part.n = cols;
    part.a += trans_a ? row : row * lda;
    part.b += trans_b ? col * ldb : col;
    part.c += row * ldc + col;
    part.bias += bias != nullptr ? col : 0;
    return part;
  }
};

/// `count` independent products, the i-th one on a + i stride_a, b + i stride_b
/// and c + i stride_c. A stride of 0 shares an input; the outputs must not
/// overlap.
struct GemmBatch {
  int64_t count = 1;
  int64_t stride_a = 0;
  int64_t stride_b = 0;
  int64_t stride_c = 0;
};

/// Computes a product or a batch of them: a large single one (see
/// packed_product.h) and a thin one (see thin_product.h) with kernels of heed's
/// own, the others cut into tiles by size alone, each one a single-threaded
/// BLAS call. The same bits for any number of threads, also when called inside
/// a parallel loop.
///
/// Throws std::invalid_argument for a negative size, a leading dimension
/// shorter than a row, or sizes beyond 32 bits.
void gemm(const Gemm<float>& product, const GemmBatch& batch = {});
void gemm(const Gemm<double>& product, const GemmBatch& batch = {});

}  // namespace heed
