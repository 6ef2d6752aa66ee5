#include "tensor/blas.h"

#include "tensor/blas_library.h"

namespace heed {
namespace {

CBLAS_TRANSPOSE flag(bool trans) { return trans ? CblasTrans : CblasNoTrans; }

int to_int(int64_t size) { return static_cast<int>(size); }

template <typename T, typename F>
void call_gemm(const F& cblas_gemm, const Gemm<T>& p) {
  cblas_gemm(
      CblasRowMajor,
      flag(p.trans_a),
      flag(p.trans_b),
      to_int(p.m),
      to_int(p.n),
      to_int(p.k),
      p.alpha,
      p.a,
      to_int(p.lda),
      p.b,
      to_int(p.ldb),
      p.beta,
      p.c,
      to_int(p.ldc));
}

/// y = alpha op(matrix) x + beta y, op(matrix) [rows, cols].
template <typename T, typename F>
void call_gemv(
    const F& cblas_gemv,
    bool trans,
    int64_t rows,
    int64_t cols,
    T alpha,
    const T* matrix,
    int64_t ld,
    const T* x,
    int64_t step_x,
    T beta,
    T* y,
    int64_t step_y) {
  if (beta == 0) {
    for (int64_t i = 0; i < rows; ++i) {
      y[i * step_y] = 0;  // some kernels would keep a NaN
    }
    beta = 1;
  }
  cblas_gemv(
      CblasRowMajor,
      flag(trans),
      to_int(trans ? cols : rows),
      to_int(trans ? rows : cols),
      alpha,
      matrix,
      to_int(ld),
      x,
      to_int(step_x),
      beta,
      y,
      to_int(step_y));
}

/// A single row or column does not pay for the packing of a matrix product.
template <typename T, typename Gemv, typename F>
void call(const Gemv& gemv, const F& gemm, const Gemm<T>& p) {
  if (p.m == 1) {  // c = op(B)^T a
    call_gemv(
        gemv,
        !p.trans_b,
        p.n,
        p.k,
        p.alpha,
        p.b,
        p.ldb,
        p.a,
        p.trans_a ? p.lda : 1,
        p.beta,
        p.c,
        1);
  } else if (p.n == 1) {  // c = op(A) b
    call_gemv(
        gemv,
        p.trans_a,
        p.m,
        p.k,
        p.alpha,
        p.a,
        p.lda,
        p.b,
        p.trans_b ? 1 : p.ldb,
        p.beta,
        p.c,
        p.ldc);
  } else {
    call_gemm(gemm, p);
  }
}

}  // namespace

SingleThreadedBlas::SingleThreadedBlas() {
  if (blas_library().omp_get_max_threads &&
      blas_library().omp_set_num_threads) {
    before_ = blas_library().omp_get_max_threads();
    if (before_ != 1) {
      blas_library().omp_set_num_threads(1);
    }
  }
}

SingleThreadedBlas::~SingleThreadedBlas() {
  if (before_ != 1) {
    blas_library().omp_set_num_threads(before_);
  }
}

void call_blas(const Gemm<float>& product) {
  call(blas_library().sgemv, blas_library().sgemm, product);
}

void call_blas(const Gemm<double>& product) {
  call(blas_library().dgemv, blas_library().dgemm, product);
}

}  // namespace heed
