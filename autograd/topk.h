#pragma once

#include "autograd/variable.h"
#include "tensor/topk.h"

namespace heed {

struct VariableTopK {
  Variable values;
  Tensor indices;  ///< int64, along the dimension that was searched.
};

/// topk of tensor/topk.h, which see. The gradient of each value goes to the
/// element that it is; the others get 0.
VariableTopK topk(
    const Variable& x, int64_t k, int64_t dim = -1, bool largest = true);

}  // namespace heed
