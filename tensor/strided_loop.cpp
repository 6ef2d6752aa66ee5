#include "tensor/strided_loop.h"

namespace heed {

Dims broadcast_strides(const Tensor& x, const Shape& to) {
  const int64_t lead = to.size() - x.dim();
  Dims strides;
  for (int64_t d = 0; d < to.size(); ++d) {
    const bool repeats = d < lead || (x.shape()[d - lead] == 1 && to[d] != 1);
    strides.push_back(repeats ? 0 : x.strides()[d - lead]);
  }
  return strides;
}

}  // namespace heed
