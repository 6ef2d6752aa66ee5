#include "autograd/elementwise.h"

#include <cmath>

#include "autograd/record.h"
#include "tensor/comparison.h"
#include "tensor/creation.h"

namespace heed {
namespace {

// What a piecewise linear function does to a gradient is linear in the gradient
// and constant in the function's arguments (but for the kinks): each gate
// below is its own derivative.

Variable abs_gate(const Variable& dy, const Variable& x) {
  return record(
      "abs_backward",
      abs_backward(dy.value(), x.value()),
      {{dy, [x = saved(x)](const Variable& ddx) { return abs_gate(ddx, x); }}});
}

Variable clamp_gate(
    const Variable& dy, const Variable& x, double low, double high) {
  return record(
      "clamp_backward",
      clamp_backward(dy.value(), x.value(), low, high),
      {{dy, [x = saved(x), low, high](const Variable& ddx) {
          return clamp_gate(ddx, x, low, high);
        }}});
}

using Share = Tensor (*)(const Tensor& dy, const Tensor& a, const Tensor& b);

// The part of dy that flows to a of maximum(a, b) or minimum(a, b).
Variable share_gate(
    Share share, const Variable& dy, const Variable& a, const Variable& b) {
  return record(
      share == maximum_backward ? "maximum_backward" : "minimum_backward",
      share(dy.value(), a.value(), b.value()),
      {{dy, [share, a = saved(a), b = saved(b)](const Variable& ddx) {
          return share_gate(share, ddx, a, b);
        }}});
}

Variable extreme(
    const char* name,
    const Tensor& value,
    Share share,
    const Variable& a,
    const Variable& b) {
  return record(
      name,
      value,
      {
          {a,
           [share, a = saved(a), b = saved(b)](const Variable& dy) {
             return share_gate(share, dy, a, b);
           }},
          {b,
           [share, a = saved(a), b = saved(b)](const Variable& dy) {
             return share_gate(share, dy, b, a);
           }},
      });
}

// The scalar as a constant of x's dtype.
Variable constant(const char* who, Scalar scalar, const Variable& x) {
  check_defined(who, x.value());
  return Variable(full({}, scalar, x.dtype()));
}

}  // namespace

Variable operator+(const Variable& a, const Variable& b) {
  return record(
      "add",
      a.value() + b.value(),
      {
          {a, [](const Variable& dy) { return dy; }},
          {b, [](const Variable& dy) { return dy; }},
      });
}

Variable operator+(const Variable& a, Scalar b) {
  return record(
      "add", a.value() + b, {{a, [](const Variable& dy) { return dy; }}});
}

Variable operator+(Scalar a, const Variable& b) { return b + a; }

Variable operator-(const Variable& a, const Variable& b) {
  return record(
      "sub",
      a.value() - b.value(),
      {
          {a, [](const Variable& dy) { return dy; }},
          {b, [](const Variable& dy) { return -dy; }},
      });
}

Variable operator-(const Variable& a, Scalar b) {
  return record(
      "sub", a.value() - b, {{a, [](const Variable& dy) { return dy; }}});
}

Variable operator-(Scalar a, const Variable& b) {
  return record(
      "sub", a - b.value(), {{b, [](const Variable& dy) { return -dy; }}});
}

Variable operator*(const Variable& a, const Variable& b) {
  return record(
      "mul",
      a.value() * b.value(),
      {
          {a, [b = saved(b)](const Variable& dy) { return dy * b; }},
          {b, [a = saved(a)](const Variable& dy) { return dy * a; }},
      });
}

Variable operator*(const Variable& a, Scalar b) {
  return record(
      "mul", a.value() * b, {{a, [b](const Variable& dy) { return dy * b; }}});
}

Variable operator*(Scalar a, const Variable& b) { return b * a; }

Variable operator/(const Variable& a, const Variable& b) {
  return record(
      "div",
      a.value() / b.value(),
      {
          {a, [b = saved(b)](const Variable& dy) { return dy / b; }},
          // d/db (a / b) = -y / b
          {b,
           [b = saved(b)](const Variable& dy, const Variable& y) {
             return -(dy * y / b);
           }},
      });
}

Variable operator/(const Variable& a, Scalar b) {
  return record(
      "div", a.value() / b, {{a, [b](const Variable& dy) { return dy / b; }}});
}

Variable operator/(Scalar a, const Variable& b) {
  return record(
      "div",
      a / b.value(),
      {{b, [b = saved(b)](const Variable& dy, const Variable& y) {
          return -(dy * y / b);
        }}});
}

Variable operator-(const Variable& x) { return neg(x); }

Variable neg(const Variable& x) {
  return record(
      "neg", neg(x.value()), {{x, [](const Variable& dy) { return -dy; }}});
}

Variable abs(const Variable& x) {
  return record("abs", abs(x.value()), {{x, [x = saved(x)](const Variable& dy) {
                                           return abs_gate(dy, x);
                                         }}});
}

Variable pow(const Variable& x, const Variable& y) {
  return record(
      "pow",
      pow(x.value(), y.value()),
      {
          // d/dx x^y = y x^(y - 1); at 0^0 not 0 * 0^-1, but 0 * 0^0.
          {x,
           [x = saved(x), y = saved(y)](const Variable& dy) {
             const Variable& base = x;
             const Variable& power = y;
             const Tensor both_zero =
                 logical_and(eq(base.value(), 0), eq(power.value(), 0));
             return dy * power *
                    pow(base, masked_fill(power, both_zero, 1) - 1);
           }},
          // d/dy x^y = x^y ln x; at 0^y not 0 * ln 0, but 0 * ln 1.
          {y,
           [x = saved(x), y = saved(y)](const Variable& dy, const Variable& z) {
             const Variable& base = x;
             const Variable& power = y;
             const Tensor at_zero =
                 logical_and(eq(base.value(), 0), ge(power.value(), 0));
             return dy * z * log(masked_fill(base, at_zero, 1));
           }},
      });
}

Variable pow(const Variable& x, Scalar y) {
  return record(
      "pow",
      pow(x.value(), y),
      {{x, [x = saved(x), power = y.real()](const Variable& dy) {
          const Variable& base = x;
          if (power == 0) {
            return Variable(zeros_like(base.value()));
          }
          return dy * (power == 2 ? base : pow(base, power - 1)) * power;
        }}});
}

Variable pow(Scalar x, const Variable& y) {
  return record(
      "pow",
      pow(x, y.value()),
      {{y,
        [base = x.real(), y = saved(y)](const Variable& dy, const Variable& z) {
          if (base != 0) {
            return dy * z * std::log(base);
          }
          // 0 where 0^y does not fall any more, not 0 * ln 0.
          const Variable& power = y;
          const Tensor log_base = masked_fill(
              full_like(power.value(), std::log(0.0)), ge(power.value(), 0), 0);
          return dy * z * log_base;
        }}});
}

Variable exp(const Variable& x) {
  return record(
      "exp",
      exp(x.value()),
      {{x, [](const Variable& dy, const Variable& y) { return dy * y; }}});
}

Variable log(const Variable& x) {
  return record("log", log(x.value()), {{x, [x = saved(x)](const Variable& dy) {
                                           return dy / x;
                                         }}});
}

Variable log1p(const Variable& x) {
  return record(
      "log1p",
      log1p(x.value()),
      {{x, [x = saved(x)](const Variable& dy) { return dy / (x.get() + 1); }}});
}

Variable sqrt(const Variable& x) {
  return record(
      "sqrt", sqrt(x.value()), {{x, [](const Variable& dy, const Variable& y) {
                                   return dy / (y * 2);
                                 }}});
}

Variable rsqrt(const Variable& x) {
  return record(
      "rsqrt",
      rsqrt(x.value()),
      // d/dx x^(-1/2) = -y^3 / 2
      {{x, [](const Variable& dy, const Variable& y) {
          return dy * pow(y, 3) * -0.5;
        }}});
}

Variable sin(const Variable& x) {
  return record("sin", sin(x.value()), {{x, [x = saved(x)](const Variable& dy) {
                                           return dy * cos(x);
                                         }}});
}

Variable cos(const Variable& x) {
  return record("cos", cos(x.value()), {{x, [x = saved(x)](const Variable& dy) {
                                           return -(dy * sin(x));
                                         }}});
}

Variable maximum(const Variable& a, const Variable& b) {
  return extreme(
      "maximum", maximum(a.value(), b.value()), maximum_backward, a, b);
}

Variable maximum(const Variable& a, Scalar b) {
  return maximum(a, constant("maximum", b, a));
}

Variable maximum(Scalar a, const Variable& b) { return maximum(b, a); }

Variable minimum(const Variable& a, const Variable& b) {
  return extreme(
      "minimum", minimum(a.value(), b.value()), minimum_backward, a, b);
}

Variable minimum(const Variable& a, Scalar b) {
  return minimum(a, constant("minimum", b, a));
}

Variable minimum(Scalar a, const Variable& b) { return minimum(b, a); }

Variable clamp(const Variable& x, Scalar low, Scalar high) {
  return record(
      "clamp",
      clamp(x.value(), low, high),
      {{x,
        [x = saved(x), low = low.real(), high = high.real()](
            const Variable& dy) { return clamp_gate(dy, x, low, high); }}});
}

Variable where(const Tensor& mask, const Variable& a, const Variable& b) {
  return record(
      "where",
      where(mask, a.value(), b.value()),
      // Chosen, not multiplied by 0: an infinite dy gives no NaN.
      {
          {a,
           [mask = saved(mask)](const Variable& dy) {
             return where(mask, dy, 0);
           }},
          {b,
           [mask = saved(mask)](const Variable& dy) {
             return where(mask, 0, dy);
           }},
      });
}

Variable where(const Tensor& mask, const Variable& a, Scalar b) {
  return where(mask, a, constant("where", b, a));
}

Variable where(const Tensor& mask, Scalar a, const Variable& b) {
  return where(mask, constant("where", a, b), b);
}

Variable masked_fill(const Variable& x, const Tensor& mask, Scalar value) {
  return record(
      "masked_fill",
      masked_fill(x.value(), mask, value),
      {{x, [mask = saved(mask)](const Variable& dy) {
          return where(mask, 0, dy);
        }}});
}

}  // namespace heed
