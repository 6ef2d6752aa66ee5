#pragma once

#include "autograd/dropout.h"
#include "nn/dropout.h"
#include "nn/layer_norm.h"

namespace heed {

/// A sub-layer with dropout, a residual connection and a norm (Vaswani et al.
/// 2017, arXiv:1706.03762, section 3.1):
///
///     norm(x + dropout(sublayer(x)))       or, with norm_first,
///     x + dropout(sublayer(norm(x)))
///
/// Shape: x [*] -> [*], sublayer's result of x's shape
template <typename F>
Variable residual(
    const Variable& x,
    const LayerNorm& norm,
    const Dropout& dropout,
    bool norm_first,
    const F& sublayer) {
  if (norm_first) {
    const Variable branch = sublayer(norm(x));
    return add_dropout(x, branch, dropout.draw(branch.numel()));
  }
  return norm.forward(x, sublayer(x), dropout);
}

}  // namespace heed
