#pragma once

#include <vector>

#include "autograd/variable.h"

namespace heed {

struct ClipNormOptions {
  double norm_type = 2;  ///< 2, or INFINITY: the largest absolute value.
  bool error_if_nonfinite = false;  ///< Throw std::runtime_error for that.
};

/// Scales the gradients of `parameters` so that their norm, taken as one long
/// vector, is at most about max_norm, and returns the norm before:
///
///     grad = grad * min(1, max_norm / (norm + 1e-6))
///
/// (Pascanu et al. 2013, arXiv:1211.5063; PyTorch's formula.) The norm is
/// computed in float64 and cannot overflow where it has a finite value.
///
/// When a gradient is infinite or NaN so is the returned norm, and gradients
/// are left alone: skip the step then. No gradients at all have norm 0. A
/// max_norm of INFINITY only measures.
///
///     if (std::isfinite(clip_grad_norm(model.parameters(), 1))) {
///       optimizer.step();
///     }
///
/// A gradient that others see too is replaced, not overwritten; a parameter
/// that is listed twice counts once.
/// Throws std::invalid_argument unless max_norm >= 0 and norm_type is one of
/// the two, or when a parameter is undefined.
double clip_grad_norm(
    const std::vector<Variable>& parameters,
    double max_norm,
    ClipNormOptions options = {});

/// Moves every element of the gradients into [-limit, limit]; NaN stays.
/// Throws std::invalid_argument unless limit is >= 0 and not NaN, or when a
/// parameter is undefined.
void clip_grad_value(const std::vector<Variable>& parameters, double limit);

}  // namespace heed
