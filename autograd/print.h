#pragma once

#include <iosfwd>

#include "autograd/variable.h"
#include "tensor/print.h"

namespace heed {

/// The value as a Tensor is written, with its history: `requires_grad=true` for
/// a leaf that requires a gradient, `op=mul` for what an operation made.
std::ostream& operator<<(std::ostream& out, const Variable& x);

}  // namespace heed
