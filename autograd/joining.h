#pragma once

#include <cstdint>
#include <vector>

#include "autograd/variable.h"
#include "tensor/joining.h"

namespace heed {

/// Differentiable cat: each input gets its slice of dy.
Variable cat(const std::vector<Variable>& variables, int64_t dim = 0);

/// Differentiable stack: input i gets dy at index i of `dim`.
Variable stack(const std::vector<Variable>& variables, int64_t dim = 0);

/// Differentiable split into views of `size` indices.
std::vector<Variable> split(const Variable& x, int64_t size, int64_t dim = 0);

/// Differentiable split into views of the given sizes.
std::vector<Variable> split(
    const Variable& x, const std::vector<int64_t>& sizes, int64_t dim = 0);

/// Differentiable split into `chunks` views.
std::vector<Variable> chunk(const Variable& x, int64_t chunks, int64_t dim = 0);

}  // namespace heed
