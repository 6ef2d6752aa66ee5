#pragma once

#include "tensor/tensor.h"

namespace heed {

struct TopK {
  Tensor values;
  Tensor indices;  ///< int64, along the dimension that was searched.
};

/// The k largest (or smallest) elements along `dim`, best first. Of equal ones
/// the lower index comes first; NaN counts as larger than any number.
/// Shape: x [..., n, ...] -> values and indices [..., k, ...]
/// Throws std::invalid_argument for bool, and unless 0 <= k <= n.
TopK topk(const Tensor& x, int64_t k, int64_t dim = -1, bool largest = true);

}  // namespace heed
