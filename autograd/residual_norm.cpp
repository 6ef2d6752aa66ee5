#include "autograd/residual_norm.h"

#include "autograd/composed_gradients.h"
#include "autograd/dropout.h"
#include "autograd/grad_mode.h"
#include "autograd/layer_norm.h"
#include "autograd/record.h"

namespace heed {

Variable residual_norm(
    const Variable& x,
    const Variable& branch,
    const DropoutDraw& draw,
    const Shape& normalized,
    const Variable& weight,
    const Variable& bias,
    double eps) {
  const LayerNormForward forward = residual_norm_forward(
      x.value(),
      branch.value(),
      draw,
      normalized,
      value_or_undefined(weight),
      value_or_undefined(bias),
      eps);
  return record(
      "residual_norm",
      forward.y,
      {x, branch, weight, bias},
      [x = saved(x),
       branch = saved(branch),
       weight = saved(weight),
       bias = saved(bias),
       draw,
       normalized,
       mean = forward.mean,
       rstd = forward.rstd,
       eps](const Variable& dy) -> std::vector<Variable> {
        // With the gradient dz of x + dropout(branch): dx = dz, dbranch =
        // dropout(dz)
        if (grad_enabled()) {
          return composed_gradients(
              [&](const std::vector<Variable>& in) {
                const Variable z = add_dropout(in[0], in[1], draw);
                return layer_norm(z, normalized, in[2], in[3], eps);
              },
              {x, branch, weight, bias},
              dy);
        }
        const ResidualNormGradients gradients = residual_norm_backward(
            dy.value(),
            x.get().value(),
            branch.get().value(),
            draw,
            normalized,
            value_or_undefined(weight),
            mean,
            rstd);
        return {
            gradients.dx,
            gradients.dbranch,
            gradients.dweight,
            gradients.dbias};
      });
}

}  // namespace heed
