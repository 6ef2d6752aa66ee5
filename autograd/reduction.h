#pragma once

#include "autograd/variable.h"
#include "tensor/reduction.h"

namespace heed {

// The reductions of tensor/reduction.h, which see, with their derivatives. In
// the formulas the result y and its gradient dy are repeated over the reduced
// dimensions.

/// dx = dy
Variable sum(const Variable& x);
Variable sum(const Variable& x, const Dims& dims, bool keepdim = false);

/// dx = dy
Variable sum_to(const Variable& x, const Shape& shape);

/// dx = dy / count
Variable mean(const Variable& x);
Variable mean(const Variable& x, const Dims& dims, bool keepdim = false);

/// dx = dy * 2 (x - mean(x)) / max(0, count - correction)
Variable var(const Variable& x);
Variable var(
    const Variable& x,
    const Dims& dims,
    int64_t correction = 1,
    bool keepdim = false);

/// dx = dy * exp(x - y); 0 where all elements are -inf.
Variable logsumexp(const Variable& x);
Variable logsumexp(const Variable& x, const Dims& dims, bool keepdim = false);

/// dx = dy * x / y; 0 where y is 0.
Variable norm(const Variable& x);
Variable norm(const Variable& x, const Dims& dims, bool keepdim = false);

/// dx = dy, shared equally among the elements that are the largest; among the
/// NaNs if there are any.
Variable max(const Variable& x);
Variable max(const Variable& x, const Dims& dims, bool keepdim = false);

/// As max, for the smallest elements.
Variable min(const Variable& x);
Variable min(const Variable& x, const Dims& dims, bool keepdim = false);

}  // namespace heed
