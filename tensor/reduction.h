#pragma once

#include "tensor/tensor.h"

namespace heed {

// Reductions over all dimensions give a tensor of shape {}; those over `dims`
// remove these dimensions, or set their sizes to 1 with keepdim. Negative
// dimensions count from the end; `Dims{}` reduces nothing. All throw
// std::invalid_argument for a dimension that does not exist or is named twice.

/// Sum of the elements. float32 is added up in float64; of bool, the true ones
/// are counted as int64; int64 wraps around. An empty sum is 0.
Tensor sum(const Tensor& x);
Tensor sum(const Tensor& x, const Dims& dims, bool keepdim = false);

/// The inverse of broadcasting: sums x over the dimensions along which `shape`
/// was repeated. Throws std::invalid_argument unless `shape` broadcasts to x.
Tensor sum_to(const Tensor& x, const Shape& shape);

/// Arithmetic mean; NaN of no elements.
/// Throws std::invalid_argument unless x is floating.
Tensor mean(const Tensor& x);
Tensor mean(const Tensor& x, const Dims& dims, bool keepdim = false);

/// Variance:
///
///     var = sum((x - mean(x))^2) / max(0, count - correction)
///
/// correction 1 is the estimate from a sample, 0 that of a whole population.
/// NaN where nothing is left to divide by.
/// Throws std::invalid_argument unless x is floating.
Tensor var(const Tensor& x);
Tensor var(
    const Tensor& x,
    const Dims& dims,
    int64_t correction = 1,
    bool keepdim = false);

/// log(sum(exp(x))), for elements of any size; -inf of no elements.
/// Throws std::invalid_argument unless x is floating.
Tensor logsumexp(const Tensor& x);
Tensor logsumexp(const Tensor& x, const Dims& dims, bool keepdim = false);

/// Euclidean length sqrt(sum(x^2)).
/// Throws std::invalid_argument unless x is floating.
Tensor norm(const Tensor& x);
Tensor norm(const Tensor& x, const Dims& dims, bool keepdim = false);

/// Largest element; NaN when one is NaN.
/// Throws std::invalid_argument for bool, and when there are no elements.
Tensor max(const Tensor& x);
Tensor max(const Tensor& x, const Dims& dims, bool keepdim = false);

/// Smallest element; NaN when one is NaN.
/// Throws std::invalid_argument for bool, and when there are no elements.
Tensor min(const Tensor& x);
Tensor min(const Tensor& x, const Dims& dims, bool keepdim = false);

/// Where the largest element is, as int64: the lowest index of several, the
/// first NaN if there is one. Without `dim`, among all elements in row-major
/// order.
/// Throws std::invalid_argument for bool, and when there are no elements.
Tensor argmax(const Tensor& x);
Tensor argmax(const Tensor& x, int64_t dim, bool keepdim = false);

/// Where the smallest element is; as argmax.
Tensor argmin(const Tensor& x);
Tensor argmin(const Tensor& x, int64_t dim, bool keepdim = false);

/// Whether an element is true; false of no elements.
/// Throws std::invalid_argument unless x is bool.
Tensor any(const Tensor& x);
Tensor any(const Tensor& x, const Dims& dims, bool keepdim = false);

/// Whether all elements are true; true of no elements.
/// Throws std::invalid_argument unless x is bool.
Tensor all(const Tensor& x);
Tensor all(const Tensor& x, const Dims& dims, bool keepdim = false);

}  // namespace heed
