#include "tensor/topk.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "tensor/parallel.h"
#include "tensor/simd.h"

namespace heed {
namespace {

template <typename T>
[[gnu::always_inline]] inline bool is_nan(T x) {
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

// So few of so many are found by looking at each element once.
constexpr int64_t kFew = 64;
constexpr int64_t kBlock = 64;

// Whether one of the block's elements may come before one of value `last`: no
// number that does is missed.
template <typename T>
[[gnu::always_inline]] inline bool may_hold_better(
    const T* x, int64_t n, T last, bool largest) {
  int found = 0;
  if (largest) {
#pragma omp simd reduction(| : found)
    for (int64_t i = 0; i < n; ++i) {
      found |= !(x[i] <= last);
    }
  } else {
#pragma omp simd reduction(| : found)
    for (int64_t i = 0; i < n; ++i) {
      found |= !(x[i] >= last);
    }
  }
  return found != 0;
}

// As topk_row, for 0 < k <= n. The best so far stand in order; most blocks
// hold none better than the last of them.
template <typename T>
inline void few_of_many(
    const T* x,
    int64_t n,
    int64_t k,
    bool largest,
    T* values,
    int64_t* indices) {
  const auto larger = [](T a, T b) {
    return a > b || (is_nan(a) && !is_nan(b));
  };
  const auto is_better = [&](T a, T b) {
    return largest ? larger(a, b) : larger(b, a);
  };
  int64_t count = 0;
  const auto insert = [&](int64_t i) {
    if (count == k && !is_better(x[i], values[k - 1])) {
      return;
    }
    int64_t place = count < k ? count++ : k - 1;
    for (; place > 0 && is_better(x[i], values[place - 1]); --place) {
      values[place] = values[place - 1];
      indices[place] = indices[place - 1];
    }
    values[place] = x[i];
    indices[place] = i;
  };
  int64_t i = 0;
  for (; i < k; ++i) {
    insert(i);
  }
  while (i < n) {
    const int64_t end = std::min(n, i + kBlock);
    if (may_hold_better(x + i, end - i, values[k - 1], largest)) {
      for (; i < end; ++i) {
        insert(i);
      }
    }
    i = end;
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
    if (k > 0 && k <= kFew && n >= 4 * k) {
      parallel_for(
          count, grain_for(n / 4 + 64 * k), [&](int64_t i, int64_t end) {
            for (; i < end; ++i) {
              simd::call<few_of_many<T>>(
                  from + i * n, n, k, largest, to + i * k, where + i * k);
            }
          });
    } else {
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
    }
    return TopK{
        values.transpose(d, -1).contiguous(),
        indices.transpose(d, -1).contiguous()};
  });
}

}  // namespace heed
