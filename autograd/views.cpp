#include "autograd/record.h"

namespace heed {
namespace {

// The adjoint of slice: zeros of `shape` that hold `x` at indices start, start
// + step, ... of dimension `dim`.
Variable unslice(
    const Variable& x,
    const Shape& shape,
    int64_t dim,
    int64_t start,
    int64_t step) {
  Tensor y(shape, x.dtype());
  y.zero_();
  y.slice(dim, start, shape[dim], step)
      .slice(dim, 0, x.size(dim))
      .copy_(x.value());
  return record(
      "unslice",
      y,
      {{x, [dim, start, step, length = x.size(dim)](const Variable& dy) {
          return dy.slice(dim, start, dy.size(dim), step).slice(dim, 0, length);
        }}});
}

Variable record_reshape(
    const char* name, const Variable& x, const Tensor& view) {
  return record(name, view, {{x, [shape = x.shape()](const Variable& dy) {
                                return dy.reshape(shape);
                              }}});
}

}  // namespace

Variable Variable::reshape(const Dims& shape) const {
  return record_reshape("reshape", *this, value().reshape(shape));
}

Variable Variable::flatten(int64_t start, int64_t end) const {
  return record_reshape("flatten", *this, value().flatten(start, end));
}

Variable Variable::transpose(int64_t dim0, int64_t dim1) const {
  return record(
      "transpose",
      value().transpose(dim0, dim1),
      {{*this, [dim0, dim1](const Variable& dy) {
          return dy.transpose(dim0, dim1);
        }}});
}

Variable Variable::permute(const Dims& dims) const {
  const Tensor view = value().permute(dims);
  Dims inverse = dims;
  for (int64_t i = 0; i < dims.size(); ++i) {
    inverse[normalize_dim("permute", dims[i], dims.size())] = i;
  }
  return record("permute", view, {{*this, [inverse](const Variable& dy) {
                                     return dy.permute(inverse);
                                   }}});
}

Variable Variable::slice(
    int64_t dim, int64_t start, int64_t stop, int64_t step) const {
  const Tensor view = value().slice(dim, start, stop, step);
  dim = normalize_dim("slice", dim, this->dim());
  const int64_t size = shape()[dim];
  start = start < 0 ? start + size : start;
  start = start < 0 ? 0 : start > size ? size : start;
  return record(
      "slice",
      view,
      {{*this, [shape = shape(), dim, start, step](const Variable& dy) {
          return unslice(dy, shape, dim, start, step);
        }}});
}

Variable Variable::select(int64_t dim, int64_t index) const {
  const Tensor view = value().select(dim, index);
  dim = normalize_dim("select", dim, this->dim());
  index = index < 0 ? index + shape()[dim] : index;
  return record(
      "select",
      view,
      {{*this, [shape = shape(), dim, index](const Variable& dy) {
          return unslice(dy.unsqueeze(dim), shape, dim, index, 1);
        }}});
}

Variable Variable::expand(const Dims& shape) const {
  // The engine sums what was repeated.
  return record(
      "expand",
      value().expand(shape),
      {{*this, [](const Variable& dy) { return dy; }}});
}

Variable Variable::squeeze(int64_t dim) const {
  return record_reshape("squeeze", *this, value().squeeze(dim));
}

Variable Variable::squeeze() const {
  return record_reshape("squeeze", *this, value().squeeze());
}

Variable Variable::unsqueeze(int64_t dim) const {
  return record_reshape("unsqueeze", *this, value().unsqueeze(dim));
}

Variable Variable::contiguous() const {
  if (value().is_contiguous()) {
    return *this;
  }
  return record(
      "contiguous",
      value().contiguous(),
      {{*this, [](const Variable& dy) { return dy; }}});
}

Variable Variable::to(DType dtype) const {
  if (value().dtype() == dtype) {
    return *this;
  }
  return record(
      "to",
      value().to(dtype),
      {{*this,
        [from = this->dtype()](const Variable& dy) { return dy.to(from); }}});
}

}  // namespace heed
