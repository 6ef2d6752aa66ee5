#pragma once

#include <cstdint>
#include <string>

namespace heed {

/// Matrix product on row-major matrices
///
///     C = alpha op(A) op(B) + beta C
///
/// where op transposes when its flag says so. beta = 0 overwrites C whatever it
/// held, NaN included. Cut into tiles by size alone, each one a
/// single-threaded BLAS call: the same bits for any number of threads, also
/// when called inside a parallel loop.
///
/// Shape:       op(A) [m, k], op(B) [k, n], C [m, n]; any of them may be 0
/// Parameters:  lda, ldb, ldc  elements from one row to the next as stored
///
/// Throws std::invalid_argument for a negative size, a leading dimension
/// shorter than a row, or sizes beyond 32 bits.
void gemm(
    bool trans_a,
    bool trans_b,
    int64_t m,
    int64_t n,
    int64_t k,
    float alpha,
    const float* a,
    int64_t lda,
    const float* b,
    int64_t ldb,
    float beta,
    float* c,
    int64_t ldc);
/// The same in double precision.
void gemm(
    bool trans_a,
    bool trans_b,
    int64_t m,
    int64_t n,
    int64_t k,
    double alpha,
    const double* a,
    int64_t lda,
    const double* b,
    int64_t ldb,
    double beta,
    double* c,
    int64_t ldc);

/// `batch` independent products (see gemm), the i-th one on a + i stride_a,
/// b + i stride_b and c + i stride_c. A stride of 0 shares an input; the
/// outputs must not overlap.
void gemm_batched(
    bool trans_a,
    bool trans_b,
    int64_t m,
    int64_t n,
    int64_t k,
    float alpha,
    const float* a,
    int64_t lda,
    const float* b,
    int64_t ldb,
    float beta,
    float* c,
    int64_t ldc,
    int64_t batch,
    int64_t stride_a,
    int64_t stride_b,
    int64_t stride_c);
/// The same in double precision.
void gemm_batched(
    bool trans_a,
    bool trans_b,
    int64_t m,
    int64_t n,
    int64_t k,
    double alpha,
    const double* a,
    int64_t lda,
    const double* b,
    int64_t ldb,
    double beta,
    double* c,
    int64_t ldc,
    int64_t batch,
    int64_t stride_a,
    int64_t stride_b,
    int64_t stride_c);

/// What multiplies the matrices.
struct BlasInfo {
  std::string library;       ///< As it names itself, or "unknown BLAS".
  std::string core;          ///< Kernel set in use; empty if it does not say.
  std::string found_core;    ///< Kernel set that the library had chosen.
  bool user_choice = false;  ///< OPENBLAS_CORETYPE is set and was respected.
  bool repaired = false;     ///< core was chosen by heed, not the library.
  bool slow = false;     ///< core leaves much of this processor's speed unused.
  bool correct = false;  ///< Trial products gave the right numbers.
};

/// Describes the BLAS, after the check that precedes the first product.
///
/// OpenBLAS chooses kernels by the processor's name, and those of a processor
/// newer than itself may be twenty years old and several times too slow. Unless
/// OPENBLAS_CORETYPE is set, such a choice is replaced here by the best kernels
/// that the processor's instructions allow and that multiply right. What cannot
/// be repaired is said once on stderr.
const BlasInfo& blas_info();

}  // namespace heed
