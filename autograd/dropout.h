#pragma once

#include "autograd/variable.h"
#include "tensor/dropout.h"

namespace heed {

/// Differentiable dropout: dx = dy / (1 - p) where x was kept, else 0. A bit an
/// element is kept for backward.
Variable dropout(const Variable& x, double p, Generator& generator);

/// The same with the mask that a generator in state `start` would draw.
Variable dropout(const Variable& x, double p, const GeneratorState& start);

/// Differentiable add_dropout, x + dropout(branch): dx = dy, dbranch =
/// dropout(dy).
Variable add_dropout(
    const Variable& x, const Variable& branch, const DropoutDraw& draw);

}  // namespace heed
