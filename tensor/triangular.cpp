#include "tensor/triangular.h"

#include <algorithm>

#include "tensor/parallel.h"

namespace heed {
namespace {

// Zeroes columns [begin, end) of each row, which range(row) returns.
template <typename Range>
Tensor with_zeros(const char* who, const Tensor& x, const Range& range) {
  check_defined(who, x);
  if (x.dim() < 2) {
    fail(who, "x must have shape [..., M, N], got ", x.shape());
  }
  Tensor y = x.clone();
  const int64_t m = x.size(-2);
  const int64_t n = x.size(-1);
  if (y.numel() == 0) {
    return y;
  }
  visit_dtype(x.dtype(), [&]<typename T>(TypeTag<T>) {
    T* const rows = y.mutable_data<T>();
    parallel_for(y.numel() / n, grain_for(n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto [first, last] = range(i % m);
        std::fill(rows + i * n + first, rows + i * n + last, T(0));
      }
    });
  });
  return y;
}

// The first column of a row of n that lies on or right of a diagonal. Without
// overflow for any diagonal.
int64_t diagonal_column(int64_t row, int64_t diagonal, int64_t n) {
  if (diagonal >= n) {
    return n;
  }
  return diagonal <= -row ? 0 : std::min(row + diagonal, n);
}

}  // namespace

Tensor tril(const Tensor& x, int64_t diagonal) {
  return with_zeros("tril", x, [&](int64_t row) {
    const int64_t n = x.size(-1);
    const int64_t on = diagonal_column(row, diagonal, n);
    const bool stays = on < n && on - row == diagonal;
    return std::pair(stays ? on + 1 : on, n);
  });
}

Tensor triu(const Tensor& x, int64_t diagonal) {
  return with_zeros("triu", x, [&](int64_t row) {
    return std::pair(int64_t{0}, diagonal_column(row, diagonal, x.size(-1)));
  });
}

}  // namespace heed
