#include "tensor/elementwise.h"

#include <cmath>
#include <functional>
#include <string_view>
#include <type_traits>

#include "tensor/arithmetic.h"
#include "tensor/creation.h"
#include "tensor/elementwise_loop.h"
#include "tensor/simd.h"
#include "tensor/strided_loop.h"
#include "tensor/vector_math.h"

namespace heed {
namespace {

// Simple operations an element that a loop is worth beside an addition.
constexpr int64_t kSimple = 1;
constexpr int64_t kDivision = 4;
constexpr int64_t kFunction = 12;  // exp, log, sin: a polynomial or a call

using arithmetic::add;
using arithmetic::multiply;
using arithmetic::subtract;

constexpr auto divide = [](auto a, auto b) { return a / b; };
constexpr auto larger = [](auto a, auto b) { return a > b || a != a ? a : b; };
constexpr auto smaller = [](auto a, auto b) { return a < b || a != a ? a : b; };

template <typename T, typename F>
Tensor map(const Tensor& x, int64_t cost, const F& f) {
  Tensor y(x.shape(), x.dtype());
  map_into<T, T>(y, x, cost, f);
  return y;
}

template <typename F>
Tensor map_number(
    std::string_view who, const Tensor& x, int64_t cost, const F& f) {
  check_defined(who, x);
  return visit_number(who, x.dtype(), [&]<typename T>(TypeTag<T>) {
    return map<T>(x, cost, [&f](T v) { return f(v); });
  });
}

template <typename F>
Tensor map_floating(
    std::string_view who, const Tensor& x, int64_t cost, const F& f) {
  check_defined(who, x);
  return visit_floating(who, x.dtype(), [&]<typename T>(TypeTag<T>) {
    return map<T>(x, cost, [&f](T v) { return f(v); });
  });
}

template <typename T, typename F>
Tensor zip(
    std::string_view who,
    const Tensor& a,
    const Tensor& b,
    int64_t cost,
    const F& f) {
  Tensor y(
      a.shape() == b.shape() ? a.shape()
                             : broadcast_shapes(who, a.shape(), b.shape()),
      a.dtype());
  zip_into<T, T>(y, a, b, cost, [&f](T v, T w) { return f(v, w); });
  return y;
}

template <typename F>
Tensor zip_number(
    std::string_view who,
    const Tensor& a,
    const Tensor& b,
    int64_t cost,
    const F& f) {
  check_same_dtype(who, a, b);
  return visit_number(who, a.dtype(), [&]<typename T>(TypeTag<T>) {
    return zip<T>(who, a, b, cost, f);
  });
}

template <typename F>
Tensor zip_floating(
    std::string_view who,
    const Tensor& a,
    const Tensor& b,
    int64_t cost,
    const F& f) {
  check_same_dtype(who, a, b);
  return visit_floating(who, a.dtype(), [&]<typename T>(TypeTag<T>) {
    return zip<T>(who, a, b, cost, f);
  });
}

// f(x, scalar) with the scalar in x's dtype.
template <typename F>
Tensor with_scalar(
    std::string_view who,
    const Tensor& x,
    Scalar scalar,
    int64_t cost,
    const F& f) {
  check_defined(who, x);
  return visit_number(who, x.dtype(), [&]<typename T>(TypeTag<T>) {
    const T s = scalar.as<T>(who);
    return map<T>(x, cost, [&f, s](T v) { return f(v, s); });
  });
}

template <typename F>
Tensor with_scalar_floating(
    std::string_view who,
    const Tensor& x,
    Scalar scalar,
    int64_t cost,
    const F& f) {
  check_defined(who, x);
  return visit_floating(who, x.dtype(), [&]<typename T>(TypeTag<T>) {
    const T s = scalar.as<T>(who);
    return map<T>(x, cost, [&f, s](T v) { return f(v, s); });
  });
}

// y[i] = f(a[i], b[i], c[i]) for runs of n elements, `step`s apart.
template <typename A, typename T, typename F>
inline void zip3_run(
    int64_t n,
    T* y,
    const A* a,
    const T* b,
    const T* c,
    const int64_t* step,
    F f) {
  const bool dense = step[0] == 1 && step[1] == 1;
  if (dense && step[2] == 1 && step[3] == 1) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      y[i] = f(a[i], b[i], c[i]);
    }
  } else if (dense && step[2] == 0 && step[3] == 1) {
    const T bv = *b;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      y[i] = f(a[i], bv, c[i]);
    }
  } else if (dense && step[2] == 1 && step[3] == 0) {
    const T cv = *c;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      y[i] = f(a[i], b[i], cv);
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      y[i * step[0]] = f(a[i * step[1]], b[i * step[2]], c[i * step[3]]);
    }
  }
}

// y = f(a, b, c) for elements of three types; all broadcast to y's shape.
template <typename A, typename T, typename F>
void zip3_into(
    Tensor& out,
    const Tensor& a,
    const Tensor& b,
    const Tensor& c,
    const F& f) {
  const StridedLoop<4> loop(out.shape(), {&out, &a, &b, &c});
  T* const y = out.mutable_data<T>();
  // As bytes: loads of bool are not vectorised.
  using Loaded = std::conditional_t<std::is_same_v<A, bool>, uint8_t, A>;
  const auto* const pa = reinterpret_cast<const Loaded*>(a.data<A>());
  const T* const pb = b.data<T>();
  const T* const pc = c.data<T>();
  loop.run(kSimple, [&](const auto& offset, int64_t n, const auto& stride) {
    simd::call<zip3_run<Loaded, T, F>>(
        n,
        y + offset[0],
        pa + offset[1],
        pb + offset[2],
        pc + offset[3],
        stride,
        f);
  });
}

// The part of dy that flows to a when `wins(a, b)` takes it all and a tie half.
template <typename F>
Tensor share_of_first(
    std::string_view who,
    const Tensor& dy,
    const Tensor& a,
    const Tensor& b,
    const F& wins) {
  check_same_dtype(who, a, b);
  check_same_dtype(who, dy, a);
  return visit_floating(who, dy.dtype(), [&]<typename T>(TypeTag<T>) {
    const Shape shape = broadcast_shapes(
        who, dy.shape(), broadcast_shapes(who, a.shape(), b.shape()));
    Tensor dx(shape, dy.dtype());
    zip3_into<T, T>(dx, dy, a, b, [&wins](T d, T v, T w) {
      const bool v_nan = v != v;
      const bool w_nan = w != w;
      const T half = v == w || (v_nan && w_nan) ? d / 2 : T{0};
      return wins(v, w) || (v_nan && !w_nan) ? d : half;
    });
    return dx;
  });
}

}  // namespace

Tensor operator+(const Tensor& a, const Tensor& b) {
  return zip_number("add", a, b, kSimple, add);
}
Tensor operator+(const Tensor& a, Scalar b) {
  return with_scalar("add", a, b, kSimple, add);
}
Tensor operator+(Scalar a, const Tensor& b) { return b + a; }

Tensor operator-(const Tensor& a, const Tensor& b) {
  return zip_number("sub", a, b, kSimple, subtract);
}
Tensor operator-(const Tensor& a, Scalar b) {
  return with_scalar("sub", a, b, kSimple, subtract);
}
Tensor operator-(Scalar a, const Tensor& b) {
  return with_scalar(
      "sub", b, a, kSimple, [](auto v, auto s) { return subtract(s, v); });
}

Tensor operator*(const Tensor& a, const Tensor& b) {
  return zip_number("mul", a, b, kSimple, multiply);
}
Tensor operator*(const Tensor& a, Scalar b) {
  return with_scalar("mul", a, b, kSimple, multiply);
}
Tensor operator*(Scalar a, const Tensor& b) { return b * a; }

Tensor operator/(const Tensor& a, const Tensor& b) {
  return zip_floating("div", a, b, kDivision, divide);
}
Tensor operator/(const Tensor& a, Scalar b) {
  return with_scalar_floating("div", a, b, kDivision, divide);
}
Tensor operator/(Scalar a, const Tensor& b) {
  return with_scalar_floating(
      "div", b, a, kDivision, [](auto v, auto s) { return s / v; });
}

Tensor operator-(const Tensor& x) { return neg(x); }

Tensor neg(const Tensor& x) {
  return map_number("neg", x, kSimple, [](auto v) {
    if constexpr (std::is_integral_v<decltype(v)>) {
      return subtract(decltype(v){0}, v);
    } else {
      return -v;
    }
  });
}

Tensor abs(const Tensor& x) {
  return map_number("abs", x, kSimple, [](auto v) {
    if constexpr (std::is_integral_v<decltype(v)>) {
      return v < 0 ? subtract(decltype(v){0}, v) : v;
    } else {
      return std::fabs(v);
    }
  });
}

Tensor pow(const Tensor& x, const Tensor& y) {
  return zip_floating("pow", x, y, 2 * kFunction, [](auto v, auto w) {
    return std::pow(v, w);
  });
}

Tensor pow(const Tensor& x, Scalar y) {
  const double power = y.real();
  // The usual powers without pow, which costs fifty times a product.
  if (power == 1) {
    return map_floating("pow", x, kSimple, [](auto v) { return v; });
  }
  if (power == 2) {
    return map_floating("pow", x, kSimple, [](auto v) { return v * v; });
  }
  if (power == 3) {
    return map_floating("pow", x, kSimple, [](auto v) { return v * v * v; });
  }
  if (power == -1) {
    return map_floating(
        "pow", x, kDivision, [](auto v) { return decltype(v){1} / v; });
  }
  return with_scalar_floating("pow", x, y, 2 * kFunction, [](auto v, auto s) {
    return std::pow(v, s);
  });
}

Tensor pow(Scalar x, const Tensor& y) {
  return with_scalar_floating("pow", y, x, 2 * kFunction, [](auto v, auto s) {
    return std::pow(s, v);
  });
}

Tensor exp(const Tensor& x) {
  return map_floating(
      "exp", x, kFunction, [](auto v) { return vector_math::exp(v); });
}

Tensor log(const Tensor& x) {
  return map_floating(
      "log", x, kFunction, [](auto v) { return vector_math::log(v); });
}

Tensor log1p(const Tensor& x) {
  return map_floating(
      "log1p", x, kFunction, [](auto v) { return std::log1p(v); });
}

Tensor sqrt(const Tensor& x) {
  return map_floating(
      "sqrt", x, kDivision, [](auto v) { return std::sqrt(v); });
}

Tensor rsqrt(const Tensor& x) {
  return map_floating("rsqrt", x, 2 * kDivision, [](auto v) {
    return decltype(v){1} / std::sqrt(v);
  });
}

Tensor sin(const Tensor& x) {
  return map_floating("sin", x, kFunction, [](auto v) { return std::sin(v); });
}

Tensor cos(const Tensor& x) {
  return map_floating("cos", x, kFunction, [](auto v) { return std::cos(v); });
}

Tensor maximum(const Tensor& a, const Tensor& b) {
  return zip_number("maximum", a, b, kSimple, larger);
}
Tensor maximum(const Tensor& a, Scalar b) {
  return with_scalar("maximum", a, b, kSimple, larger);
}
Tensor maximum(Scalar a, const Tensor& b) { return maximum(b, a); }

Tensor minimum(const Tensor& a, const Tensor& b) {
  return zip_number("minimum", a, b, kSimple, smaller);
}
Tensor minimum(const Tensor& a, Scalar b) {
  return with_scalar("minimum", a, b, kSimple, smaller);
}
Tensor minimum(Scalar a, const Tensor& b) { return minimum(b, a); }

Tensor clamp(const Tensor& x, Scalar low, Scalar high) {
  check_defined("clamp", x);
  return visit_number("clamp", x.dtype(), [&]<typename T>(TypeTag<T>) {
    const T least = low.as<T>("clamp");
    const T most = high.as<T>("clamp");
    if (!(least <= most)) {
      fail("clamp", "low must be <= high, got ", least, " and ", most);
    }
    return map<T>(x, kSimple, [least, most](T v) {
      return v < least ? least : v > most ? most : v;
    });
  });
}

Tensor where(const Tensor& mask, const Tensor& a, const Tensor& b) {
  check_defined("where", mask, "mask");
  check_same_dtype("where", a, b);
  if (mask.dtype() != kBool) {
    fail("where", "mask must have dtype bool, got ", mask.dtype());
  }
  const Shape shape = broadcast_shapes(
      "where", mask.shape(), broadcast_shapes("where", a.shape(), b.shape()));
  Tensor y(shape, a.dtype());
  visit_dtype(a.dtype(), [&]<typename T>(TypeTag<T>) {
    zip3_into<bool, T>(
        y, mask, a, b, [](int m, T v, T w) { return m != 0 ? v : w; });
  });
  return y;
}

Tensor where(const Tensor& mask, const Tensor& a, Scalar b) {
  check_defined("where", a, "a");
  return where(mask, a, full({}, b, a.dtype()));
}

Tensor where(const Tensor& mask, Scalar a, const Tensor& b) {
  check_defined("where", b, "b");
  return where(mask, full({}, a, b.dtype()), b);
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value) {
  check_defined("masked_fill", x);
  check_defined("masked_fill", mask, "mask");
  if (mask.dtype() != kBool) {
    fail("masked_fill", "mask must have dtype bool, got ", mask.dtype());
  }
  return where(mask, value, x);
}

Tensor abs_backward(const Tensor& dy, const Tensor& x) {
  return zip_floating("abs_backward", dy, x, kSimple, [](auto d, auto v) {
    using T = decltype(d);
    return v > 0 ? d : v < 0 ? -d : v == 0 ? T{0} : v;
  });
}

Tensor maximum_backward(const Tensor& dy, const Tensor& a, const Tensor& b) {
  return share_of_first("maximum_backward", dy, a, b, std::greater<>());
}

Tensor minimum_backward(const Tensor& dy, const Tensor& a, const Tensor& b) {
  return share_of_first("minimum_backward", dy, a, b, std::less<>());
}

Tensor clamp_backward(
    const Tensor& dy, const Tensor& x, Scalar low, Scalar high) {
  check_same_dtype("clamp_backward", dy, x);
  return visit_floating(
      "clamp_backward", x.dtype(), [&]<typename T>(TypeTag<T>) {
        const T least = low.as<T>("clamp_backward");
        const T most = high.as<T>("clamp_backward");
        return zip<T>(
            "clamp_backward", dy, x, kSimple, [least, most](T d, T v) {
              return v < least || v > most ? T{0} : d;
            });
      });
}

}  // namespace heed
