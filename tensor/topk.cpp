#include "tensor/topk.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "tensor/parallel.h"

namespace heed {
namespace {

template <typename T>
bool is_nan(T x) {
  return x != x;
}

// The best k of x, in order; `order` has room for n indices.
template <typename T>
void topk_row(
    const T* x,
    int64_t n,
    int64_t k,
    bool largest,
    int64_t* order,
    T* values,
    int64_t* indices) {
  const auto larger = [](T a, T b) {
    return a > b || (is_nan(a) && !is_nan(b));
  };
  const auto before = [&](int64_t i, int64_t j) {
    const T a = largest ? x[i] : x[j];
    const T b = largest ? x[j] : x[i];
    return larger(a, b) || (!larger(b, a) && i < j);
  };
  std::iota(order, order + n, int64_t{0});
  std::partial_sort(order, order + k, order + n, before);
  for (int64_t i = 0; i < k; ++i) {
    values[i] = x[order[i]];
    indices[i] = order[i];
  }
}

}  // namespace

TopK topk(const Tensor& x, int64_t k, int64_t dim, bool largest) {
  check_defined("topk", x);
  if (x.dim() == 0) {
    const TopK one = topk(x.reshape({1}), k, dim, largest);
    return k == 1 ? TopK{one.values.reshape({}), one.indices.reshape({})} : one;
  }
  const int64_t d = normalize_dim("topk", dim, x.dim());
  const int64_t n = x.shape()[d];
  if (k < 0 || k > n) {
    fail("topk", "k must be in [0, ", n, "], got ", k);
  }
  const Tensor rows = x.transpose(d, -1).contiguous();
  Dims shape = rows.shape();
  shape[x.dim() - 1] = k;
  return visit_number("topk", x.dtype(), [&]<typename T>(TypeTag<T>) {
    Tensor values(Shape(shape), x.dtype());
    Tensor indices(Shape(shape), kInt64);
    const T* const from = rows.data<T>();
    T* const to = values.mutable_data<T>();
    int64_t* const where = indices.mutable_data<int64_t>();
    const int64_t count = n == 0 ? 0 : x.numel() / n;
    const int64_t cost = n * (2 + std::bit_width(static_cast<uint64_t>(k)));
    parallel_for(count, grain_for(cost), [&](int64_t i, int64_t end) {
      std::vector<int64_t> order(n);
      for (; i < end; ++i) {
        topk_row(
            from + i * n,
            n,
            k,
            largest,
            order.data(),
            to + i * k,
            where + i * k);
      }
    });
    return TopK{
        values.transpose(d, -1).contiguous(),
        indices.transpose(d, -1).contiguous()};
  });
}

}  // namespace heed
