// A BLAS library that is not OpenBLAS: no name but CBLAS's, the sums as
// written.
#include <cblas.h>

namespace {

template <typename T>
void gemm(
    bool trans_a,
    bool trans_b,
    int m,
    int n,
    int k,
    T alpha,
    const T* a,
    int lda,
    const T* b,
    int ldb,
    T beta,
    T* c,
    int ldc) {
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      T sum = 0;
      for (int p = 0; p < k; ++p) {
        sum += (trans_a ? a[p * lda + i] : a[i * lda + p]) *
               (trans_b ? b[j * ldb + p] : b[p * ldb + j]);
      }
      T& y = c[i * ldc + j];
      y = alpha * sum + (beta == 0 ? T(0) : beta * y);
    }
  }
}

}  // namespace

extern "C" {

void cblas_sgemm(
    CBLAS_ORDER,
    CBLAS_TRANSPOSE trans_a,
    CBLAS_TRANSPOSE trans_b,
    int m,
    int n,
    int k,
    float alpha,
    const float* a,
    int lda,
    const float* b,
    int ldb,
    float beta,
    float* c,
    int ldc) {
  gemm(
      trans_a == CblasTrans,
      trans_b == CblasTrans,
      m,
      n,
      k,
      alpha,
      a,
      lda,
      b,
      ldb,
      beta,
      c,
      ldc);
}

void cblas_dgemm(
    CBLAS_ORDER,
    CBLAS_TRANSPOSE trans_a,
    CBLAS_TRANSPOSE trans_b,
    int m,
    int n,
    int k,
    double alpha,
    const double* a,
    int lda,
    const double* b,
    int ldb,
    double beta,
    double* c,
    int ldc) {
  gemm(
      trans_a == CblasTrans,
      trans_b == CblasTrans,
      m,
      n,
      k,
      alpha,
      a,
      lda,
      b,
      ldb,
      beta,
      c,
      ldc);
}

// y = alpha op(A) x + beta y, a product with one column.
void cblas_sgemv(
    CBLAS_ORDER,
    CBLAS_TRANSPOSE trans,
    int rows,
    int cols,
    float alpha,
    const float* a,
    int lda,
    const float* x,
    int step_x,
    float beta,
    float* y,
    int step_y) {
  const bool t = trans == CblasTrans;
  const int m = t ? cols : rows;
  const int k = t ? rows : cols;
  gemm(t, false, m, 1, k, alpha, a, lda, x, step_x, beta, y, step_y);
}

void cblas_dgemv(
    CBLAS_ORDER,
    CBLAS_TRANSPOSE trans,
    int rows,
    int cols,
    double alpha,
    const double* a,
    int lda,
    const double* x,
    int step_x,
    double beta,
    double* y,
    int step_y) {
  const bool t = trans == CblasTrans;
  const int m = t ? cols : rows;
  const int k = t ? rows : cols;
  gemm(t, false, m, 1, k, alpha, a, lda, x, step_x, beta, y, step_y);
}

}  // extern "C"
