#pragma once

#include "autograd/variable.h"
#include "tensor/packing.h"

namespace heed {

/// The differentiable forms of the functions in tensor/packing.h, each of which
/// is the other's gradient.
Variable pack(const Variable& x, const Packing& packing);
Variable unpack(const Variable& x, const Packing& packing);

}  // namespace heed
