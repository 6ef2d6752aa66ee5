#pragma once

#include <cstdint>

#include "autograd/variable.h"
#include "tensor/indexing.h"

namespace heed {

/// Differentiable gather: dx = scatter_add(zeros, dim, index, dy).
Variable gather(const Variable& x, int64_t dim, const Tensor& index);

/// Differentiable index_select: dy is added up at the indices it came from.
Variable index_select(const Variable& x, int64_t dim, const Tensor& index);

/// Differentiable scatter_add: dx = dy, dsrc = gather(dy, dim, index).
Variable scatter_add(
    const Variable& x, int64_t dim, const Tensor& index, const Variable& src);

}  // namespace heed
