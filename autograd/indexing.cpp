#include "autograd/indexing.h"

#include "autograd/record.h"
#include "tensor/creation.h"

namespace heed {
namespace {

// The index tensor under which gather does what index_select does, for a result
// of shape `shape`.
Tensor spread(const Tensor& index, int64_t dim, const Shape& shape) {
  Dims sizes = shape;
  for (int64_t d = 0; d < sizes.size(); ++d) {
    sizes[d] = d == dim ? index.numel() : 1;
  }
  return index.reshape(sizes).expand(shape);
}

}  // namespace

Variable gather(const Variable& x, int64_t dim, const Tensor& index) {
  return record(
      "gather",
      gather(x.value(), dim, index),
      {{x, [shape = x.shape(), dim, index = saved(index)](const Variable& dy) {
          return scatter_add(
              Variable(zeros(shape, dy.dtype())), dim, index, dy);
        }}});
}

Variable index_select(const Variable& x, int64_t dim, const Tensor& index) {
  const Tensor y = index_select(x.value(), dim, index);
  dim = normalize_dim("index_select", dim, x.dim());
  return record(
      "index_select",
      y,
      {{x, [shape = x.shape(), dim, index = saved(index)](const Variable& dy) {
          return scatter_add(
              Variable(zeros(shape, dy.dtype())),
              dim,
              spread(index, dim, dy.shape()),
              dy);
        }}});
}

Variable scatter_add(
    const Variable& x, int64_t dim, const Tensor& index, const Variable& src) {
  return record(
      "scatter_add",
      scatter_add(x.value(), dim, index, src.value()),
      {
          {x, [](const Variable& dy) { return dy; }},
          {src,
           [dim, index = saved(index)](const Variable& dy) {
             return gather(dy, dim, index);
           }},
      });
}

}  // namespace heed
