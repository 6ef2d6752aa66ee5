#pragma once

#include "tensor/activation.h"
#include "tensor/tensor.h"

namespace heed {

// Functions of each element. Two tensors broadcast against one another by
// NumPy's rules and must have one dtype; a plain number takes the tensor's.
//
//     Shape: a [*], b [*] -> [broadcast of both]; x [*] -> [*]
//
// All throw std::invalid_argument for shapes that do not broadcast, for mixed
// dtypes and for a dtype they do not take: bool never, int64 only where said.

// + - * and unary - take int64 too, which wraps around. / is for floating
// tensors alone: a quotient of integers is seldom one.
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator+(const Tensor& a, Scalar b);
Tensor operator+(Scalar a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, Scalar b);
Tensor operator-(Scalar a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, Scalar b);
Tensor operator*(Scalar a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, Scalar b);
Tensor operator/(Scalar a, const Tensor& b);
Tensor operator-(const Tensor& x);

/// -x. Takes int64 too.
Tensor neg(const Tensor& x);
/// |x|. Takes int64 too.
Tensor abs(const Tensor& x);

/// x to the power y; x^0 = 1 for every x, NaN too.
Tensor pow(const Tensor& x, const Tensor& y);
Tensor pow(const Tensor& x, Scalar y);
Tensor pow(Scalar x, const Tensor& y);

/// e^x
Tensor exp(const Tensor& x);
/// The natural logarithm.
Tensor log(const Tensor& x);
/// log(1 + x), exact near 0 too.
Tensor log1p(const Tensor& x);
/// The square root.
Tensor sqrt(const Tensor& x);
/// 1 / sqrt(x)
Tensor rsqrt(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);

/// The larger of each pair; NaN wins. Takes int64 too.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, Scalar b);
Tensor maximum(Scalar a, const Tensor& b);
/// The smaller of each pair; NaN wins. Takes int64 too.
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, Scalar b);
Tensor minimum(Scalar a, const Tensor& b);
/// x moved to the nearer end of [low, high] where it lies outside; NaN stays.
/// Takes int64 too. Throws std::invalid_argument unless low <= high.
Tensor clamp(const Tensor& x, Scalar low, Scalar high);

/// a where `mask` is true, b elsewhere; every dtype.
/// Shape: mask [*], a [*], b [*] -> [broadcast of all three]
/// Throws std::invalid_argument unless mask is bool and a and b of one dtype.
Tensor where(const Tensor& mask, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& mask, const Tensor& a, Scalar b);
Tensor where(const Tensor& mask, Scalar a, const Tensor& b);
/// `value` where `mask` is true, x elsewhere; every dtype.
/// Shape: x [*], mask [*] -> [broadcast of both]
Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value);

// The gradient of x or a, given the gradient dy of the result, where the
// derivative is a step: dy passes, or it does not.

/// dy * sign(x), 0 at 0.
Tensor abs_backward(const Tensor& dy, const Tensor& x);
/// dy where a wins, dy / 2 in ties, 0 elsewhere; the rest goes to b.
Tensor maximum_backward(const Tensor& dy, const Tensor& a, const Tensor& b);
Tensor minimum_backward(const Tensor& dy, const Tensor& a, const Tensor& b);
/// dy where low <= x <= high or x is NaN, 0 elsewhere.
Tensor clamp_backward(
    const Tensor& dy, const Tensor& x, Scalar low, Scalar high);

}  // namespace heed
