#include "autograd/linear.h"

#include <utility>

#include "autograd/grad_mode.h"
#include "autograd/matmul.h"
#include "autograd/record.h"
#include "tensor/matmul.h"

namespace heed {
namespace {

// dx = dy weight
struct InputRule {
  Saved<Variable> weight;

  Variable operator()(const Variable& dy) const { return matmul(dy, weight); }
  bool add_to(Tensor& sum, const Variable& dy) const {
    if (sum.dim() < 2) {
      return false;
    }
    matmul_into(sum, dy.value(), weight.get().value(), /*add=*/true);
    return true;
  }
};

// dweight = dy^T x
struct WeightRule {
  Saved<Variable> x;
  int64_t rows;
  int64_t in;
  int64_t out;

  Variable operator()(const Variable& dy) const {
    if (!grad_enabled()) {
      Tensor dweight({out, in}, dy.dtype());
      multiply_into(dweight, dy, /*add=*/false);
      return dweight;
    }
    return matmul(
        dy.reshape({rows, out}).transpose(0, 1),  // [out, rows]
        x.get().reshape({rows, in}));
  }
  bool add_to(Tensor& sum, const Variable& dy) const {
    multiply_into(sum, dy, /*add=*/true);
    return true;
  }
  void multiply_into(Tensor& dweight, const Variable& dy, bool add) const {
    matmul_into(
        dweight,
        dy.value().reshape({rows, out}).transpose(0, 1),
        x.get().value().reshape({rows, in}),
        add);
  }
};

}  // namespace

Variable linear(
    const Variable& x, const Variable& weight, const Variable& bias) {
  Tensor y = linear(x.value(), weight.value(), value_or_undefined(bias));
  const int64_t in = weight.size(1);
  const int64_t out = weight.size(0);
  int64_t rows = 1;
  for (int64_t d = 0; d < x.dim() - 1; ++d) {
    rows *= x.size(d);
  }
  return record(
      "linear",
      std::move(y),
      {
          {x, InputRule{saved(weight)}},
          {weight, WeightRule{saved(x), rows, in, out}},
          {bias, [](const Variable& dy) { return dy; }},
      });
}

}  // namespace heed
