#pragma once

#include "tensor/tensor.h"

namespace heed {

/// y = x where the elements that lie side by side in x do not do so in y and
/// the other way round: x broadcast to y's shape, of the same dtype. Copies
/// squares that fit a cache line each way, so that neither side is read or
/// written a number at a time.
///
/// Returns false, with nothing done, for other layouts.
bool copy_transposed(Tensor& y, const Tensor& x);

}  // namespace heed
