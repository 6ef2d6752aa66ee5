#pragma once

#include <functional>
#include <vector>

#include "autograd/variable.h"

namespace heed {

/// The gradients of f at `inputs` for dy, that of its result: differentiable
/// ones, since f is made of differentiable operations. This is how the rule of
/// a fused operation gets them under create_graph. Inputs may depend on one
/// another; that does not count. An input that needs no gradient gets an
/// undefined one.
std::vector<Variable> composed_gradients(
    const std::function<Variable(const std::vector<Variable>&)>& f,
    const std::vector<Variable>& inputs,
    const Variable& dy);

}  // namespace heed
