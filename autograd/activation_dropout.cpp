#include "autograd/activation_dropout.h"

#include "autograd/activation.h"
#include "autograd/composed_gradients.h"
#include "autograd/dropout.h"
#include "autograd/grad_mode.h"
#include "autograd/record.h"

namespace heed {
namespace {

// dy / (1 - p) where y > 0, else 0: linear in dy and a step in y, so that its
// derivative is itself.
Variable relu_dropout_gate(const Variable& dy, const Variable& y, double p) {
  return record(
      "relu_dropout_backward",
      relu_dropout_backward(dy.value(), y.value(), p),
      {{dy, [y = saved(y), p](const Variable& ddx) {
          return relu_dropout_gate(ddx, y, p);
        }}});
}

}  // namespace

Variable relu_dropout(const Variable& x, const DropoutDraw& draw) {
  return record(
      "relu_dropout",
      relu_dropout(x.value(), draw),
      {{x, [p = draw.p](const Variable& dy, const Variable& y) {
          return relu_dropout_gate(dy, y, p);
        }}});
}

Variable gelu_dropout(
    const Variable& x,
    GeluApproximation approximation,
    const DropoutDraw& draw) {
  return record(
      "gelu_dropout",
      gelu_dropout(x.value(), approximation, draw),
      {{x, [x = saved(x), approximation, draw](const Variable& dy) {
          if (!grad_enabled()) {
            return Variable(gelu_dropout_backward(
                dy.value(), x.get().value(), approximation, draw));
          }
          return composed_gradients(
              [&](const std::vector<Variable>& in) {
                return dropout(gelu(in[0], approximation), draw.p, draw.start);
              },
              {x},
              dy)[0];
        }}});
}

}  // namespace heed
