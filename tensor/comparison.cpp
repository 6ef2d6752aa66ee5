#include "tensor/comparison.h"

#include <atomic>
#include <cmath>
#include <functional>
#include <string_view>

#include "tensor/creation.h"
#include "tensor/elementwise_loop.h"
#include "tensor/strided_loop.h"

namespace heed {
namespace {

void check_ordered(std::string_view who, const Tensor& x) {
  check_defined(who, x);
  visit_number(who, x.dtype(), [](auto) {});
}

void check_bool(std::string_view who, const Tensor& x) {
  check_defined(who, x);
  if (x.dtype() != kBool) {
    fail(who, "dtype must be bool, got ", x.dtype());
  }
}

template <typename F>
Tensor compare(
    std::string_view who, const Tensor& a, const Tensor& b, const F& f) {
  check_same_dtype(who, a, b);
  Tensor y(broadcast_shapes(who, a.shape(), b.shape()), kBool);
  visit_dtype(a.dtype(), [&]<typename T>(TypeTag<T>) {
    zip_into<T, bool>(y, a, b, 1, [&f](T v, T w) { return f(v, w); });
  });
  return y;
}

template <typename F>
Tensor compare(std::string_view who, const Tensor& a, Scalar b, const F& f) {
  check_defined(who, a);
  return visit_dtype(a.dtype(), [&]<typename T>(TypeTag<T>) {
    const T w = b.as<T>(who);
    Tensor y(a.shape(), kBool);
    map_into<T, bool>(y, a, 1, [&f, w](T v) { return f(v, w); });
    return y;
  });
}

template <typename F>
Tensor logical(
    std::string_view who, const Tensor& a, const Tensor& b, const F& f) {
  check_bool(who, a);
  check_bool(who, b);
  Tensor y(broadcast_shapes(who, a.shape(), b.shape()), kBool);
  zip_into<bool, bool>(y, a, b, 1, f);
  return y;
}

// f(x) of floating elements; `otherwise` of the others.
template <typename F>
Tensor classify(
    std::string_view who, const Tensor& x, bool otherwise, const F& f) {
  check_defined(who, x);
  if (!is_floating(x.dtype())) {
    return full(x.shape(), otherwise, kBool);
  }
  return visit_floating(who, x.dtype(), [&]<typename T>(TypeTag<T>) {
    Tensor y(x.shape(), kBool);
    map_into<T, bool>(y, x, 1, [&f](T v) { return f(v); });
    return y;
  });
}

// Whether f(a, b) holds for all elements of the broadcast of both.
template <typename F>
bool holds_for_all(
    const Shape& shape, const Tensor& a, const Tensor& b, const F& f) {
  std::atomic<bool> holds{true};
  const StridedLoop<2> loop(shape, {&a, &b});
  visit_dtype(a.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* const pa = a.data<T>();
    const T* const pb = b.data<T>();
    loop.run(1, [&](const auto& offset, int64_t n, const auto& stride) {
      bool all = holds.load(std::memory_order_relaxed);
      for (int64_t i = 0; all && i < n; ++i) {
        all = f(pa[offset[0] + i * stride[0]], pb[offset[1] + i * stride[1]]);
      }
      if (!all) {
        holds.store(false, std::memory_order_relaxed);
      }
    });
  });
  return holds;
}

}  // namespace

Tensor eq(const Tensor& a, const Tensor& b) {
  return compare("eq", a, b, std::equal_to<>());
}
Tensor eq(const Tensor& a, Scalar b) {
  return compare("eq", a, b, std::equal_to<>());
}

Tensor ne(const Tensor& a, const Tensor& b) {
  return compare("ne", a, b, std::not_equal_to<>());
}
Tensor ne(const Tensor& a, Scalar b) {
  return compare("ne", a, b, std::not_equal_to<>());
}

Tensor lt(const Tensor& a, const Tensor& b) {
  check_ordered("lt", a);
  return compare("lt", a, b, std::less<>());
}
Tensor lt(const Tensor& a, Scalar b) {
  check_ordered("lt", a);
  return compare("lt", a, b, std::less<>());
}

Tensor le(const Tensor& a, const Tensor& b) {
  check_ordered("le", a);
  return compare("le", a, b, std::less_equal<>());
}
Tensor le(const Tensor& a, Scalar b) {
  check_ordered("le", a);
  return compare("le", a, b, std::less_equal<>());
}

Tensor gt(const Tensor& a, const Tensor& b) {
  check_ordered("gt", a);
  return compare("gt", a, b, std::greater<>());
}
Tensor gt(const Tensor& a, Scalar b) {
  check_ordered("gt", a);
  return compare("gt", a, b, std::greater<>());
}

Tensor ge(const Tensor& a, const Tensor& b) {
  check_ordered("ge", a);
  return compare("ge", a, b, std::greater_equal<>());
}
Tensor ge(const Tensor& a, Scalar b) {
  check_ordered("ge", a);
  return compare("ge", a, b, std::greater_equal<>());
}

Tensor logical_and(const Tensor& a, const Tensor& b) {
  return logical("logical_and", a, b, std::bit_and<bool>());
}

Tensor logical_or(const Tensor& a, const Tensor& b) {
  return logical("logical_or", a, b, std::bit_or<bool>());
}

Tensor logical_xor(const Tensor& a, const Tensor& b) {
  return logical("logical_xor", a, b, std::not_equal_to<bool>());
}

Tensor logical_not(const Tensor& x) {
  check_bool("logical_not", x);
  Tensor y(x.shape(), kBool);
  map_into<bool, bool>(y, x, 1, std::logical_not<bool>());
  return y;
}

Tensor isnan(const Tensor& x) {
  return classify("isnan", x, false, [](auto v) { return v != v; });
}

Tensor isfinite(const Tensor& x) {
  return classify("isfinite", x, true, [](auto v) { return v - v == 0; });
}

Tensor isinf(const Tensor& x) {
  return classify(
      "isinf", x, false, [](auto v) { return v == v && v - v != 0; });
}

bool allclose(
    const Tensor& a,
    const Tensor& b,
    double rtol,
    double atol,
    bool equal_nan) {
  check_same_dtype("allclose", a, b);
  const Shape shape = broadcast_shapes("allclose", a.shape(), b.shape());
  return holds_for_all(shape, a, b, [=](auto v, auto w) {
    if (v == w) {
      return true;
    }
    const double x = static_cast<double>(v);
    const double y = static_cast<double>(w);
    if (std::isnan(x) || std::isnan(y)) {
      return equal_nan && std::isnan(x) && std::isnan(y);
    }
    return !std::isinf(y) && std::fabs(x - y) <= atol + rtol * std::fabs(y);
  });
}

bool equal(const Tensor& a, const Tensor& b) {
  check_same_dtype("equal", a, b);
  return a.shape() == b.shape() &&
         holds_for_all(a.shape(), a, b, [](auto v, auto w) { return v == w; });
}

}  // namespace heed
