#pragma once

#include "autograd/activation.h"
#include "autograd/variable.h"
#include "tensor/elementwise.h"

namespace heed {

// The functions of tensor/elementwise.h, which see, with their derivatives.

Variable operator+(const Variable& a, const Variable& b);
Variable operator+(const Variable& a, Scalar b);
Variable operator+(Scalar a, const Variable& b);
Variable operator-(const Variable& a, const Variable& b);
Variable operator-(const Variable& a, Scalar b);
Variable operator-(Scalar a, const Variable& b);
Variable operator*(const Variable& a, const Variable& b);
Variable operator*(const Variable& a, Scalar b);
Variable operator*(Scalar a, const Variable& b);
Variable operator/(const Variable& a, const Variable& b);
Variable operator/(const Variable& a, Scalar b);
Variable operator/(Scalar a, const Variable& b);
Variable operator-(const Variable& x);

Variable neg(const Variable& x);
/// The derivative at 0 is 0.
Variable abs(const Variable& x);

/// The derivative with respect to x is 0 where y is 0; that with respect to y
/// is 0 where x is 0 and y >= 0.
Variable pow(const Variable& x, const Variable& y);
Variable pow(const Variable& x, Scalar y);
Variable pow(Scalar x, const Variable& y);

Variable exp(const Variable& x);
Variable log(const Variable& x);
Variable log1p(const Variable& x);
Variable sqrt(const Variable& x);
Variable rsqrt(const Variable& x);
Variable sin(const Variable& x);
Variable cos(const Variable& x);

/// In a tie, and where both are NaN, each gets half of the gradient; where one
/// is NaN, it gets all.
Variable maximum(const Variable& a, const Variable& b);
Variable maximum(const Variable& a, Scalar b);
Variable maximum(Scalar a, const Variable& b);
Variable minimum(const Variable& a, const Variable& b);
Variable minimum(const Variable& a, Scalar b);
Variable minimum(Scalar a, const Variable& b);
/// The derivative is 1 on [low, high], the ends included, and 0 outside.
Variable clamp(const Variable& x, Scalar low, Scalar high);

/// The gradient that enters the side not chosen is exactly 0, even where that
/// of the result is infinite or NaN. What follows in that side can still make
/// NaN of it, 0 times the infinite slope of sqrt at 0: mask such a function's
/// argument, not its result.
Variable where(const Tensor& mask, const Variable& a, const Variable& b);
Variable where(const Tensor& mask, const Variable& a, Scalar b);
Variable where(const Tensor& mask, Scalar a, const Variable& b);
/// The gradient of x is exactly 0 where `mask` is true.
Variable masked_fill(const Variable& x, const Tensor& mask, Scalar value);

}  // namespace heed
