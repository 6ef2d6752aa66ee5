#include <algorithm>

#include "tensor/tensor.h"

namespace heed {
namespace {

// Strides under which `shape` shows the same elements in the same order as
// `x`, if there are any. Each run of x's dimensions that lie densely behind
// one another can be cut anew; sizes of 1 fit everywhere.
bool strides_for(const Tensor& x, const Shape& shape, Dims& strides) {
  strides = contiguous_strides(shape);
  if (x.is_contiguous()) {
    return true;
  }
  Dims own_sizes;
  Dims own_strides;
  for (int64_t i = 0; i < x.dim(); ++i) {
    if (x.shape()[i] != 1) {
      own_sizes.push_back(x.shape()[i]);
      own_strides.push_back(x.strides()[i]);
    }
  }
  int64_t to = shape.size() - 1;
  int64_t from = own_sizes.size() - 1;
  while (from >= 0) {
    const int64_t stride = own_strides[from];
    int64_t run = own_sizes[from--];
    while (from >= 0 && own_strides[from] == stride * run) {
      run *= own_sizes[from--];
    }
    int64_t covered = 1;
    while (to >= 0 && (covered < run || shape[to] == 1)) {
      strides[to] = stride * covered;
      covered *= shape[to--];
    }
    if (covered != run) {
      return false;
    }
  }
  return true;
}

}  // namespace

Tensor Tensor::window(
    const Shape& shape, const Dims& strides, int64_t storage_offset) const {
  Tensor view;
  view.storage_ = storage_;
  view.offset_ = storage_offset;
  view.shape_ = shape;
  view.strides_ = strides;
  view.dtype_ = dtype_;
  return view;
}

Tensor Tensor::as_strided(
    const Shape& shape, const Dims& strides, int64_t storage_offset) const {
  check_defined("as_strided", *this, "the tensor");
  bool fits = shape.size() == strides.size() && storage_offset >= 0;
  int64_t last = storage_offset;  // the window's last element
  for (int64_t d = 0; fits && d < shape.size(); ++d) {
    int64_t reach = 0;
    fits = strides[d] >= 0 &&
           !__builtin_mul_overflow(shape[d] - 1, strides[d], &reach) &&
           !__builtin_add_overflow(last, reach, &last);
  }
  const int64_t room = storage_.bytes() / itemsize(dtype_);
  if (!fits || (shape.numel() > 0 && last >= room)) {
    fail(
        "as_strided",
        "the window must lie within the storage of ",
        room,
        " elements, got shape ",
        shape,
        ", strides ",
        strides,
        " and offset ",
        storage_offset);
  }
  return window(shape, strides, storage_offset);
}

Tensor Tensor::reshape(const Dims& shape) const {
  check_defined("reshape", *this, "the tensor");
  if (shape_ == shape) {
    return *this;
  }
  Dims sizes = shape;
  int64_t unknown = -1;
  int64_t known = 1;
  for (int64_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1 && unknown < 0) {
      unknown = i;
    } else if (
        sizes[i] < 0 || __builtin_mul_overflow(known, sizes[i], &known)) {
      fail("reshape", "sizes must be >= 0 with at most one -1, got ", shape);
    }
  }
  if (unknown >= 0) {
    if (known == 0 || numel() % known != 0) {
      fail(
          "reshape",
          "the size for -1 must follow from the others, got ",
          shape,
          " for a tensor of shape ",
          shape_);
    }
    sizes[unknown] = numel() / known;
  }
  const Shape target(sizes);
  if (target.numel() != numel()) {
    fail(
        "reshape",
        "the number of elements must stay, got ",
        shape,
        " for a tensor of shape ",
        shape_);
  }
  Dims strides;
  if (strides_for(*this, target, strides)) {
    return window(target, strides, offset_);
  }
  const Tensor dense = clone();
  return dense.window(target, contiguous_strides(target), 0);
}

Tensor Tensor::flatten(int64_t start, int64_t end) const {
  check_defined("flatten", *this, "the tensor");
  if (dim() == 0) {
    return reshape({1});
  }
  start = normalize_dim("flatten", start, dim());
  end = normalize_dim("flatten", end, dim());
  if (start > end) {
    fail("flatten", "start must not follow end, got ", start, " and ", end);
  }
  Dims sizes;
  int64_t merged = 1;
  for (int64_t i = 0; i < dim(); ++i) {
    if (i < start || i > end) {
      sizes.push_back(shape_[i]);
      continue;
    }
    merged *= shape_[i];
    if (i == end) {
      sizes.push_back(merged);
    }
  }
  return reshape(sizes);
}

Tensor Tensor::transpose(int64_t dim0, int64_t dim1) const {
  check_defined("transpose", *this, "the tensor");
  dim0 = normalize_dim("transpose", dim0, dim());
  dim1 = normalize_dim("transpose", dim1, dim());
  Dims sizes = shape_;
  Dims strides = strides_;
  std::swap(sizes[dim0], sizes[dim1]);
  std::swap(strides[dim0], strides[dim1]);
  return window(Shape(sizes), strides, offset_);
}

Tensor Tensor::permute(const Dims& dims) const {
  check_defined("permute", *this, "the tensor");
  if (dims.size() != dim()) {
    fail(
        "permute",
        "dims must name each dimension once, got ",
        dims,
        " for a tensor of shape ",
        shape_);
  }
  normalize_dims("permute", dims, dim());
  Dims sizes;
  Dims strides;
  for (int64_t d : dims) {
    d = normalize_dim("permute", d, dim());
    sizes.push_back(shape_[d]);
    strides.push_back(strides_[d]);
  }
  return window(Shape(sizes), strides, offset_);
}

Tensor Tensor::slice(
    int64_t dim, int64_t start, int64_t stop, int64_t step) const {
  check_defined("slice", *this, "the tensor");
  dim = normalize_dim("slice", dim, this->dim());
  if (step <= 0) {
    fail("slice", "step must be positive, got ", step);
  }
  const int64_t size = shape_[dim];
  start = std::clamp<int64_t>(start < 0 ? start + size : start, 0, size);
  stop = std::clamp<int64_t>(stop < 0 ? stop + size : stop, start, size);
  const int64_t length = stop - start;
  Dims sizes = shape_;
  Dims strides = strides_;
  sizes[dim] = length / step + (length % step != 0);
  // A step beyond the end leaves one element, whose stride nobody follows.
  strides[dim] = sizes[dim] > 1 ? strides_[dim] * step : strides_[dim];
  return window(Shape(sizes), strides, offset_ + start * strides_[dim]);
}

Tensor Tensor::select(int64_t dim, int64_t index) const {
  check_defined("select", *this, "the tensor");
  dim = normalize_dim("select", dim, this->dim());
  const int64_t size = shape_[dim];
  if (index < -size || index >= size) {
    fail(
        "select",
        "index must be in [",
        -size,
        ", ",
        size - 1,
        "], got ",
        index,
        " for dimension ",
        dim,
        " of shape ",
        shape_);
  }
  index = index < 0 ? index + size : index;
  Dims sizes = shape_;
  Dims strides = strides_;
  sizes.erase(dim);
  strides.erase(dim);
  return window(Shape(sizes), strides, offset_ + index * strides_[dim]);
}

Tensor Tensor::expand(const Dims& shape) const {
  check_defined("expand", *this, "the tensor");
  const int64_t lead = shape.size() - dim();
  Dims sizes = shape;
  Dims strides;
  bool fits = lead >= 0;
  for (int64_t i = 0; fits && i < shape.size(); ++i) {
    const bool is_new = i < lead;
    const int64_t own = is_new ? 1 : shape_[i - lead];
    if (sizes[i] == -1 && !is_new) {
      sizes[i] = own;
    }
    fits = sizes[i] >= 0 && (own == 1 || own == sizes[i]);
    strides.push_back(own == sizes[i] && !is_new ? strides_[i - lead] : 0);
  }
  if (!fits) {
    fail("expand", "sizes of 1 may grow, got ", shape, " for shape ", shape_);
  }
  return window(Shape(sizes), strides, offset_);
}

Tensor Tensor::squeeze(int64_t dim) const {
  check_defined("squeeze", *this, "the tensor");
  dim = normalize_dim("squeeze", dim, this->dim());
  if (shape_[dim] != 1) {
    return *this;
  }
  return select(dim, 0);
}

Tensor Tensor::squeeze() const {
  check_defined("squeeze", *this, "the tensor");
  Tensor view = *this;
  for (int64_t i = dim() - 1; i >= 0; --i) {
    view = view.squeeze(i);
  }
  return view;
}

Tensor Tensor::unsqueeze(int64_t dim) const {
  check_defined("unsqueeze", *this, "the tensor");
  dim = normalize_dim("unsqueeze", dim, this->dim() + 1);
  Dims sizes = shape_;
  Dims strides = strides_;
  sizes.insert(dim, 1);
  strides.insert(
      dim, dim < this->dim() ? strides_[dim] * shape_[dim] : int64_t{1});
  return window(Shape(sizes), strides, offset_);
}

}  // namespace heed
