#include "autograd/layer_norm.h"

#include "autograd/elementwise.h"
#include "autograd/grad_mode.h"
#include "autograd/record.h"
#include "autograd/reduction.h"

namespace heed {
namespace {

// The formulas of layer_norm_backward in differentiable operations.
std::vector<Variable> composed_backward(
    const Variable& dy,
    const Variable& x,
    const Shape& normalized,
    const Variable& weight,
    double eps) {
  Dims dims;
  for (int64_t d = x.dim() - normalized.size(); d < x.dim(); ++d) {
    dims.push_back(d);
  }
  const auto row_mean = [&dims](const Variable& v) {
    return mean(v, dims, /*keepdim=*/true);
  };
  const Variable centered = x - row_mean(x);
  const Variable rstd = rsqrt(row_mean(centered * centered) + eps);
  const Variable xhat = centered * rstd;
  const Variable g = weight.defined() ? dy * weight : dy;
  return {rstd * (g - row_mean(g) - xhat * row_mean(g * xhat)), dy * xhat, dy};
}

}  // namespace

Variable layer_norm(
    const Variable& x,
    const Variable& weight,
    const Variable& bias,
    double eps) {
  if (!weight.defined()) {
    fail("layer_norm", "weight must be defined, or the shape given");
  }
  return layer_norm(x, weight.shape(), weight, bias, eps);
}

Variable layer_norm(
    const Variable& x,
    const Shape& normalized,
    const Variable& weight,
    const Variable& bias,
    double eps) {
  const LayerNormForward forward = layer_norm_forward(
      x.value(),
      normalized,
      value_or_undefined(weight),
      value_or_undefined(bias),
      eps);
  return record(
      "layer_norm",
      forward.y,
      {x, weight, bias},
      [x = saved(x),
       weight = saved(weight),
       normalized,
       mean = forward.mean,
       rstd = forward.rstd,
       eps](const Variable& dy) -> std::vector<Variable> {
        // dx = rstd * (g - mean(g) - xhat * mean(g * xhat)), g = dy * weight;
        // dweight = sum(dy * xhat), dbias = sum(dy)
        if (grad_enabled()) {
          return composed_backward(dy, x, normalized, weight, eps);
        }
        const LayerNormGradients gradients = layer_norm_backward(
            dy.value(),
            x.get().value(),
            normalized,
            value_or_undefined(weight),
            mean,
            rstd);
        return {gradients.dx, gradients.dweight, gradients.dbias};
      });
}

}  // namespace heed
