#include "autograd/linear.h"

#include "autograd/matmul.h"
#include "autograd/record.h"

namespace heed {

Variable linear(
    const Variable& x, const Variable& weight, const Variable& bias) {
  const Tensor y = linear(
      x.value(), weight.value(), bias.defined() ? bias.value() : Tensor());
  const int64_t in = weight.size(1);
  const int64_t out = weight.size(0);
  int64_t rows = 1;
  for (int64_t d = 0; d < x.dim() - 1; ++d) {
    rows *= x.size(d);
  }
  return record(
      "linear",
      y,
      {
          {x,
           [weight = saved(weight)](const Variable& dy) {
             return matmul(dy, weight);
           }},
          {weight,
           [x = saved(x), rows, in, out](const Variable& dy) {
             return matmul(
                 dy.reshape({rows, out}).transpose(0, 1),  // [out, rows]
                 x.get().reshape({rows, in}));
           }},
          {bias, [](const Variable& dy) { return dy; }},
      });
}

}  // namespace heed
