#include "autograd/softmax.h"

#include "autograd/elementwise.h"
#include "autograd/grad_mode.h"
#include "autograd/record.h"
#include "autograd/reduction.h"

namespace heed {
namespace {

// Sum along `dim`, which stays with size 1; a single number is its own sum.
Variable line_sum(const Variable& x, int64_t dim) {
  return x.dim() == 0 ? x : sum(x, dim, /*keepdim=*/true);
}

}  // namespace

Variable softmax(const Variable& x, int64_t dim) {
  return record(
      "softmax",
      softmax(x.value(), dim),
      {{x, [dim](const Variable& dy, const Variable& y) -> Variable {
          // dx = y * (dy - sum(dy * y))
          if (!grad_enabled()) {
            return softmax_backward(dy.value(), y.value(), dim);
          }
          return y * (dy - line_sum(dy * y, dim));
        }}});
}

Variable log_softmax(const Variable& x, int64_t dim) {
  return record(
      "log_softmax",
      log_softmax(x.value(), dim),
      {{x, [dim](const Variable& dy, const Variable& y) -> Variable {
          // dx = dy - exp(y) * sum(dy)
          if (!grad_enabled()) {
            return log_softmax_backward(dy.value(), y.value(), dim);
          }
          return dy - exp(y) * line_sum(dy, dim);
        }}});
}

}  // namespace heed
