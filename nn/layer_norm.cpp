#include "nn/layer_norm.h"

#include <sstream>

#include "autograd/layer_norm.h"
#include "autograd/residual_norm.h"
#include "tensor/creation.h"

namespace heed {

LayerNorm::LayerNorm(int64_t d_model, const LayerNormOptions& options)
    : LayerNorm(Shape({d_model}), options) {}

LayerNorm::LayerNorm(
    const Shape& normalized_shape, const LayerNormOptions& options)
    : normalized_shape_(normalized_shape), eps_(options.eps) {
  if (normalized_shape.empty() || normalized_shape.numel() == 0) {
    fail(
        "LayerNorm",
        "normalized sizes must be positive, got ",
        normalized_shape);
  }
  if (!(eps_ > 0)) {
    fail("LayerNorm", "eps must be positive, got ", eps_);
  }
  if (options.affine) {
    weight_ = add_parameter("weight", ones(normalized_shape, options.dtype));
    if (options.bias) {
      bias_ = add_parameter("bias", zeros(normalized_shape, options.dtype));
    }
  }
}

Variable LayerNorm::forward(const Variable& x) const {
  return layer_norm(x, normalized_shape_, weight_, bias_, eps_);
}

Variable LayerNorm::forward(
    const Variable& x, const Variable& branch, const Dropout& dropout) const {
  return residual_norm(
      x,
      branch,
      dropout.draw(branch.numel()),
      normalized_shape_,
      weight_,
      bias_,
      eps_);
}

std::string LayerNorm::describe() const {
  std::ostringstream out;
  out << "LayerNorm(" << normalized_shape_ << ", eps=" << eps_
      << ", affine=" << (weight_.defined() ? "true" : "false") << ')';
  return out.str();
}

}  // namespace heed
