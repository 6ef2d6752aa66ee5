#include "autograd/linear.h"

#include "autograd/matmul.h"
#include "autograd/record.h"
#include "tensor/matmul.h"

namespace heed {
namespace {

// dweight = dy^T x
struct WeightRule {
  Saved<Variable> x;
  int64_t rows;
  int64_t in;
  int64_t out;

  Variable operator()(const Variable& dy) const {
    return matmul(
        dy.reshape({rows, out}).transpose(0, 1),  // [out, rows]
        x.get().reshape({rows, in}));
  }
  bool add_to(Tensor& sum, const Variable& dy) const {
    matmul_into(
        sum,
        dy.value().reshape({rows, out}).transpose(0, 1),
        x.get().value().reshape({rows, in}),
        /*add=*/true);
    return true;
  }
};

}  // namespace

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
          {weight, WeightRule{saved(x), rows, in, out}},
          {bias, [](const Variable& dy) { return dy; }},
      });
}

}  // namespace heed
