#pragma once

#include <cstdint>

#include "autograd/variable.h"
#include "tensor/triangular.h"

namespace heed {

/// Differentiable tril: dx = tril(dy).
Variable tril(const Variable& x, int64_t diagonal = 0);

/// Differentiable triu: dx = triu(dy).
Variable triu(const Variable& x, int64_t diagonal = 0);

}  // namespace heed
