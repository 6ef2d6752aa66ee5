#include "tensor/reduction.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "tensor/elementwise_loop.h"
#include "tensor/lanes.h"
#include "tensor/parallel.h"
#include "tensor/reduce_loop.h"
#include "tensor/simd.h"
#include "tensor/vector_math.h"

namespace heed {
namespace {

// float32 is added up in float64: no count of elements makes it stop growing.
template <typename T>
using SumOf = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;

// The sum, divided by `divisor` when floating.
template <typename T>
struct Sum {
  using In = T;
  using Acc = SumOf<T>;
  using Out = std::conditional_t<std::is_same_v<T, bool>, int64_t, T>;
  static constexpr bool kMergesItself = std::is_same_v<In, Acc>;
  // -0 + x is x, whatever x; and unlike 0 it is no call of memset.
  Acc start() const { return -Acc(0); }
  Acc step(Acc a, In x, int64_t) const { return merge(a, static_cast<Acc>(x)); }
  Acc merge(Acc a, Acc b) const {
    if constexpr (std::is_integral_v<Acc>) {
      return static_cast<Acc>(
          static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      return a + b;
    }
  }
  Out finish(Acc a) const {
    if constexpr (std::is_integral_v<Acc>) {
      return a;
    } else {
      return static_cast<Out>((a + 0) / divisor);  // the sum of nothing is +0
    }
  }

  double divisor = 1;
};

// The square root of the sum of squares.
template <typename T>
struct Norm {
  using In = T;
  using Acc = double;
  using Out = T;
  Acc start() const { return 0; }
  Acc step(Acc a, T x, int64_t) const {
    return a + static_cast<double>(x) * static_cast<double>(x);
  }
  Acc merge(Acc a, Acc b) const { return a + b; }
  T finish(Acc a) const { return static_cast<T>(std::sqrt(a)); }
};

template <typename T>
bool is_nan(T x) {
  return x != x;
}

// Whether b is to be kept rather than a. NaN is kept rather than any number.
struct Larger {
  template <typename T>
  static constexpr T kLeast = std::is_floating_point_v<T>
                                  ? -std::numeric_limits<T>::infinity()
                                  : std::numeric_limits<T>::lowest();
  template <typename T>
  static bool better(T a, T b) {
    return b > a || is_nan(b);
  }
};

struct Smaller {
  template <typename T>
  static constexpr T kLeast = std::is_floating_point_v<T>
                                  ? std::numeric_limits<T>::infinity()
                                  : std::numeric_limits<T>::max();
  template <typename T>
  static bool better(T a, T b) {
    return b < a || is_nan(b);
  }
};

template <typename T, typename Order>
struct Extreme {
  using In = T;
  using Acc = T;
  using Out = T;
  static constexpr bool kMergesItself = true;
  T start() const { return Order::template kLeast<T>; }
  T step(T a, T x, int64_t) const { return merge(a, x); }
  T merge(T a, T b) const { return Order::better(a, b) ? b : a; }
  T finish(T a) const { return a; }
};

template <typename T, typename Order>
struct ArgExtreme {
  using In = T;
  struct Acc {
    T value;
    int64_t index;
  };
  using Out = int64_t;
  Acc start() const {
    return {
        Order::template kLeast<T>,
        std::numeric_limits<int64_t>::max()};  // any element comes before it
  }
  Acc step(Acc a, T x, int64_t i) const { return merge(a, Acc{x, i}); }
  Acc merge(Acc a, Acc b) const {
    const bool alike =
        a.value == b.value || (is_nan(a.value) && is_nan(b.value));
    if (alike) {
      return a.index < b.index ? a : b;
    }
    return is_nan(a.value) || !Order::better(a.value, b.value) ? a : b;
  }
  int64_t finish(Acc a) const { return a.index; }
};

struct Any {
  using In = bool;
  using Acc = bool;
  using Out = bool;
  static constexpr bool kMergesItself = true;
  bool start() const { return false; }
  bool step(bool a, bool x, int64_t) const { return a | x; }
  bool merge(bool a, bool b) const { return a | b; }
  bool finish(bool a) const { return a; }
};

struct All {
  using In = bool;
  using Acc = bool;
  using Out = bool;
  static constexpr bool kMergesItself = true;
  bool start() const { return true; }
  bool step(bool a, bool x, int64_t) const { return a & x; }
  bool merge(bool a, bool b) const { return a & b; }
  bool finish(bool a) const { return a; }
};

Dims all_dims(const Tensor& x) {
  Dims dims;
  for (int64_t d = 0; x.defined() && d < x.dim(); ++d) {
    dims.push_back(d);
  }
  return dims;
}

Dims checked_dims(std::string_view who, const Tensor& x, const Dims& dims) {
  check_defined(who, x);
  return normalize_dims(who, dims, x.dim());
}

void check_some(std::string_view who, const Tensor& x, const Dims& dims) {
  if (reduced_count(x.shape(), dims) == 0) {
    fail(
        who,
        "there must be elements to choose from, got shape ",
        x.shape(),
        " over dimensions ",
        dims);
  }
}

template <typename Order>
Tensor extreme(
    std::string_view who, const Tensor& x, const Dims& dims, bool keepdim) {
  const Dims reduced = checked_dims(who, x, dims);
  check_some(who, x, reduced);
  return visit_number(who, x.dtype(), [&]<typename T>(TypeTag<T>) {
    return reduce(Extreme<T, Order>{}, x, reduced, keepdim);
  });
}

template <typename Order>
Tensor arg_extreme(
    std::string_view who, const Tensor& x, int64_t dim, bool keepdim) {
  check_defined(who, x);
  const Tensor rows = x.dim() == 0 ? x.reshape({1}) : x;
  const int64_t d = normalize_dim(who, dim, rows.dim());
  check_some(who, rows, {d});
  return visit_number(who, x.dtype(), [&]<typename T>(TypeTag<T>) {
    const Tensor y = reduce_dim(ArgExtreme<T, Order>{}, rows, d, keepdim);
    return x.dim() == 0 ? y.reshape({}) : y;
  });
}

template <typename Op>
Tensor reduce_bool(
    std::string_view who, const Tensor& x, const Dims& dims, bool keepdim) {
  const Dims reduced = checked_dims(who, x, dims);
  if (x.dtype() != kBool) {
    fail(who, "dtype must be bool, got ", x.dtype());
  }
  return reduce(Op{}, x, reduced, keepdim);
}

// log(sum(exp(x))) = most + log(sum(exp(x - most))) of each row; no exp() of a
// distance to the largest element overflows. Where that is infinite, 0 stands
// for it: log(0) = -inf, log(inf) = inf.
template <typename T>
inline void logsumexp_rows(const T* x, int64_t n, int64_t rows, T* y) {
  for (int64_t row = 0; row < rows; ++row, x += n) {
    const T top = lane_max(x, n);
    const T most = std::isinf(top) ? T(0) : top;
    const double total =
        lane_sum(n, [=](int64_t i) { return vector_math::exp(x[i] - most); });
    y[row] = static_cast<T>(std::log(total) + static_cast<double>(most));
  }
}

}  // namespace

Tensor sum(const Tensor& x) { return sum(x, all_dims(x)); }

Tensor sum(const Tensor& x, const Dims& dims, bool keepdim) {
  const Dims reduced = checked_dims("sum", x, dims);
  return visit_dtype(x.dtype(), [&]<typename T>(TypeTag<T>) {
    return reduce(Sum<T>{}, x, reduced, keepdim);
  });
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  check_defined("sum_to", x);
  if (!is_broadcastable_to(shape, x.shape())) {
    fail(
        "sum_to",
        "shape must broadcast to ",
        x.shape(),
        ", that of x, got ",
        shape);
  }
  if (x.shape() == shape) {
    return x;
  }
  const int64_t lead = x.dim() - shape.size();
  Dims repeated;
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (d < lead || (shape[d - lead] == 1 && x.shape()[d] != 1)) {
      repeated.push_back(d);
    }
  }
  return sum(x, repeated, /*keepdim=*/true).reshape(shape);
}

Tensor mean(const Tensor& x) { return mean(x, all_dims(x)); }

Tensor mean(const Tensor& x, const Dims& dims, bool keepdim) {
  const Dims reduced = checked_dims("mean", x, dims);
  const int64_t count = reduced_count(x.shape(), reduced);
  return visit_floating("mean", x.dtype(), [&]<typename T>(TypeTag<T>) {
    return reduce(Sum<T>{static_cast<double>(count)}, x, reduced, keepdim);
  });
}

Tensor var(const Tensor& x) { return var(x, all_dims(x)); }

Tensor var(
    const Tensor& x, const Dims& dims, int64_t correction, bool keepdim) {
  const Dims reduced = checked_dims("var", x, dims);
  const int64_t left = reduced_count(x.shape(), reduced) - correction;
  return visit_floating("var", x.dtype(), [&]<typename T>(TypeTag<T>) {
    // Squares of distances from the mean: x^2 - mean^2 would cancel.
    const Tensor center = mean(x, reduced, /*keepdim=*/true);
    Tensor squares(x.shape(), x.dtype());
    zip_into<T, T>(
        squares, x, center, 2, [](T v, T m) { return (v - m) * (v - m); });
    const double divisor = left > 0 ? static_cast<double>(left) : 0.0;
    return reduce(Sum<T>{divisor}, squares, reduced, keepdim);
  });
}

Tensor logsumexp(const Tensor& x) { return logsumexp(x, all_dims(x)); }

Tensor logsumexp(const Tensor& x, const Dims& dims, bool keepdim) {
  const Dims reduced = checked_dims("logsumexp", x, dims);
  return visit_floating("logsumexp", x.dtype(), [&]<typename T>(TypeTag<T>) {
    const bool by_rows = reduced.size() == 1 && reduced[0] == x.dim() - 1 &&
                         x.is_contiguous() && x.numel() > 0;
    if (by_rows) {
      Dims shape = x.shape();
      shape[x.dim() - 1] = 1;
      Tensor y(Shape(shape), x.dtype());
      const int64_t n = x.size(-1);
      const T* const from = x.data<T>();
      T* const to = y.mutable_data<T>();
      parallel_for(y.numel(), grain_for(4 * n), [&](int64_t i, int64_t end) {
        simd::call<logsumexp_rows<T>>(from + i * n, n, end - i, to + i);
      });
      return keepdim ? y : y.squeeze(-1);
    }
    // exp() of the distances to the largest element cannot overflow. Where that
    // is infinite, 0 stands for it: log(0) = -inf, log(inf) = inf.
    Tensor top = reduce(Extreme<T, Larger>{}, x, reduced, /*keepdim=*/true);
    map_into<T, T>(top, top, 1, [](T v) { return std::isinf(v) ? T(0) : v; });
    Tensor exps(x.shape(), x.dtype());
    zip_into<T, T>(
        exps, x, top, 16, [](T v, T m) { return vector_math::exp(v - m); });
    Tensor y = reduce(Sum<T>{}, exps, reduced, keepdim);
    top = top.reshape(y.shape());
    zip_into<T, T>(y, y, top, 16, [](T s, T m) { return std::log(s) + m; });
    return y;
  });
}

Tensor norm(const Tensor& x) { return norm(x, all_dims(x)); }

Tensor norm(const Tensor& x, const Dims& dims, bool keepdim) {
  const Dims reduced = checked_dims("norm", x, dims);
  return visit_floating("norm", x.dtype(), [&]<typename T>(TypeTag<T>) {
    return reduce(Norm<T>{}, x, reduced, keepdim);
  });
}

Tensor max(const Tensor& x) { return max(x, all_dims(x)); }

Tensor max(const Tensor& x, const Dims& dims, bool keepdim) {
  return extreme<Larger>("max", x, dims, keepdim);
}

Tensor min(const Tensor& x) { return min(x, all_dims(x)); }

Tensor min(const Tensor& x, const Dims& dims, bool keepdim) {
  return extreme<Smaller>("min", x, dims, keepdim);
}

Tensor argmax(const Tensor& x) {
  check_defined("argmax", x);
  return argmax(x.reshape({-1}), 0);
}

Tensor argmax(const Tensor& x, int64_t dim, bool keepdim) {
  return arg_extreme<Larger>("argmax", x, dim, keepdim);
}

Tensor argmin(const Tensor& x) {
  check_defined("argmin", x);
  return argmin(x.reshape({-1}), 0);
}

Tensor argmin(const Tensor& x, int64_t dim, bool keepdim) {
  return arg_extreme<Smaller>("argmin", x, dim, keepdim);
}

Tensor any(const Tensor& x) { return any(x, all_dims(x)); }

Tensor any(const Tensor& x, const Dims& dims, bool keepdim) {
  return reduce_bool<Any>("any", x, dims, keepdim);
}

Tensor all(const Tensor& x) { return all(x, all_dims(x)); }

Tensor all(const Tensor& x, const Dims& dims, bool keepdim) {
  return reduce_bool<All>("all", x, dims, keepdim);
}

}  // namespace heed
