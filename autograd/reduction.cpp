#include "autograd/reduction.h"

#include "autograd/record.h"
#include "tensor/reduction.h"

namespace heed {
namespace {

Dims all_dims(const Variable& x) {
  Dims dims;
  for (int64_t d = 0; x.defined() && d < x.dim(); ++d) {
    dims.push_back(d);
  }
  return dims;
}

// Something of the result's shape, repeated over the dimensions that `dims`
// reduced, whether they were kept or not.
Variable spread(const Variable& y, const Shape& shape, const Dims& dims) {
  const Dims reduced = normalize_dims("reduction", dims, shape.size());
  return y.reshape(reduced_shape(shape, reduced, true)).expand(shape);
}

}  // namespace

Variable sum(const Variable& x) { return sum(x, all_dims(x)); }

Variable sum(const Variable& x, const Dims& dims, bool keepdim) {
  // y = sum(x), so dx = dy.
  return record(
      "sum",
      sum(x.value(), dims, keepdim),
      {{x, [shape = x.shape(), dims](const Variable& dy) {
          return spread(dy, shape, dims);
        }}});
}

Variable sum_to(const Variable& x, const Shape& shape) {
  // y = sum of the copies of an element, so each copy's dx = dy.
  return record(
      "sum_to",
      sum_to(x.value(), shape),
      {{x,
        [from = x.shape()](const Variable& dy) { return dy.expand(from); }}});
}

}  // namespace heed
