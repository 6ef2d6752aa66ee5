#pragma once

#include "tensor/tensor.h"

namespace heed {

// Comparisons, element by element; the result is a bool tensor. Tensors
// broadcast by NumPy's rules and must have one dtype; a plain number takes the
// tensor's. Comparing with NaN gives false, but true for ne. eq and ne take
// every dtype, the others all but bool.
//
//     Shape: a [*], b [*] -> [broadcast of both]; x [*] -> [*]
//
// Throw std::invalid_argument for what does not fit.

/// Equal. (The operators == and != are not defined: whether two tensors are the
/// same is equal()'s business.)
Tensor eq(const Tensor& a, const Tensor& b);
Tensor eq(const Tensor& a, Scalar b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, Scalar b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, Scalar b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, Scalar b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, Scalar b);
Tensor ge(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, Scalar b);

inline Tensor operator<(const Tensor& a, const Tensor& b) { return lt(a, b); }
inline Tensor operator<(const Tensor& a, Scalar b) { return lt(a, b); }
inline Tensor operator<(Scalar a, const Tensor& b) { return gt(b, a); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return le(a, b); }
inline Tensor operator<=(const Tensor& a, Scalar b) { return le(a, b); }
inline Tensor operator<=(Scalar a, const Tensor& b) { return ge(b, a); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return gt(a, b); }
inline Tensor operator>(const Tensor& a, Scalar b) { return gt(a, b); }
inline Tensor operator>(Scalar a, const Tensor& b) { return lt(b, a); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return ge(a, b); }
inline Tensor operator>=(const Tensor& a, Scalar b) { return ge(a, b); }
inline Tensor operator>=(Scalar a, const Tensor& b) { return le(b, a); }

// Of bool tensors only.
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& x);

// Of every dtype; integers and bools are finite.
Tensor isnan(const Tensor& x);
Tensor isfinite(const Tensor& x);
Tensor isinf(const Tensor& x);

/// Whether |a - b| <= atol + rtol |b| for all elements of the broadcast of
/// both. Infinities are close when equal, NaN to NaN when `equal_nan`.
bool allclose(
    const Tensor& a,
    const Tensor& b,
    double rtol = 1e-5,
    double atol = 1e-8,
    bool equal_nan = false);

/// Whether both have one shape and all elements are equal (NaN never is).
/// Throws std::invalid_argument for mixed dtypes.
bool equal(const Tensor& a, const Tensor& b);

}  // namespace heed
