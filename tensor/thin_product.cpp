#include "tensor/thin_product.h"

#include <algorithm>

#include "tensor/ceil_div.h"
#include "tensor/parallel.h"
#include "tensor/simd.h"
#include "tensor/small_product.h"
#include "tensor/tensor.h"
#include "tensor/transpose_rows.h"

namespace heed {
namespace {

// Lanes of two of the widest registers: rows of A side by side.
constexpr int64_t kMaxRows = 32;
constexpr int64_t kLanes = 16;
constexpr int64_t kPanel = 48;  // rows of B at a time; they stay in the cache
// Numbers added up in one go; sums of sums round less.
constexpr int64_t kDepth = 128;

/// c [m, n] = y^T, or c += y^T, y [n, lanes].
template <typename T>
void add_transposed(
    const T* y,
    int64_t lanes,
    int64_t m,
    int64_t n,
    T* c,
    int64_t c_row,
    bool add) {
  for (int64_t i = 0; i < m; ++i) {
    T* const row = c + i * c_row;
    for (int64_t j = 0; j < n; ++j) {
      row[j] = add ? row[j] + y[j * lanes + i] : y[j * lanes + i];
    }
  }
}

}  // namespace

template <typename T>
bool is_thin(const Gemm<T>& p) {
  return p.m > 1 && p.m <= kMaxRows && p.n >= kPanel && p.k >= kLanes &&
         !p.trans_a && p.trans_b && p.alpha == 1 &&
         (p.beta == 0 || p.beta == 1);
}

template <typename T>
void multiply_thin(const Gemm<T>& p) {
  const int64_t lanes = ceil_div(p.m, kLanes) * kLanes;
  Tensor columns({p.k, lanes}, dtype_of<T>);  // A^T
  T* const a = columns.mutable_data<T>();
  simd::call_own<
      transpose_rows<T, 16>,
      transpose_rows<T, 32>,
      transpose_rows<T, 64>>(p.a, p.lda, p.m, p.k, lanes, T(1), a, lanes);
  parallel_for(
      ceil_div(p.n, kPanel),
      grain_for(kPanel * lanes * p.k / kLanes),
      [&](int64_t panel, int64_t end) {
        alignas(64) T y[kPanel * kMaxRows];
        for (; panel < end; ++panel) {
          const int64_t first = panel * kPanel;
          const int64_t n = std::min(kPanel, p.n - first);
          for (int64_t done = 0; done < p.k; done += kDepth) {
            multiply_small(SmallProduct<T>{
                .m = n,
                .n = lanes,
                .k = std::min(kDepth, p.k - done),
                .a = p.b + first * p.ldb + done,
                .a_row = p.ldb,
                .a_column = 1,
                .b = a + done * lanes,
                .b_row = lanes,
                .c = y,
                .c_row = lanes});
            simd::call<add_transposed<T>>(
                static_cast<const T*>(y),
                lanes,
                p.m,
                n,
                p.c + first,
                p.ldc,
                p.beta == 1 || done > 0);
          }
        }
      });
}

template bool is_thin(const Gemm<float>&);
template bool is_thin(const Gemm<double>&);
template void multiply_thin(const Gemm<float>&);
template void multiply_thin(const Gemm<double>&);

}  // namespace heed
