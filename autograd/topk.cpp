#include "autograd/topk.h"

#include "autograd/indexing.h"
#include "autograd/record.h"
#include "autograd/reduction.h"
#include "tensor/creation.h"

namespace heed {

VariableTopK topk(const Variable& x, int64_t k, int64_t dim, bool largest) {
  const TopK best = topk(x.value(), k, dim, largest);
  const Variable values = record(
      "topk",
      best.values,
      {{x,
        [shape = x.shape(),
         dtype = x.dtype(),
         indices = saved(best.indices),
         dim](const Variable& dy) -> Variable {
          // dx[index] = dy, 0 elsewhere
          if (shape.empty()) {
            return sum(dy);
          }
          return scatter_add(zeros(shape, dtype), dim, indices, dy);
        }}});
  return {values, best.indices};
}

}  // namespace heed
