#include "tensor/joining.h"

#include <algorithm>

namespace heed {
namespace {

// Throws unless there is a first tensor and tensor i matches it, but for `dim`
// when dim >= 0.
void check_alike(
    std::string_view who, const std::vector<Tensor>& tensors, int64_t dim) {
  const Tensor& first = tensors[0];
  for (size_t i = 1; i < tensors.size(); ++i) {
    check_same_dtype(who, first, tensors[i]);
    Dims sizes = tensors[i].shape();
    if (dim >= 0 && sizes.size() == first.dim()) {
      sizes[dim] = first.shape()[dim];
    }
    if (!(sizes == first.shape())) {
      fail(
          who,
          "all tensors must have the same shape",
          dim >= 0 ? " except in the joined dimension" : "",
          ", got ",
          first.shape(),
          " for tensor 0 and ",
          tensors[i].shape(),
          " for tensor ",
          i);
    }
  }
}

void check_first(std::string_view who, const std::vector<Tensor>& tensors) {
  if (tensors.empty()) {
    fail(who, "there must be at least one tensor, got none");
  }
  check_defined(who, tensors[0], "tensor 0");
}

}  // namespace

Tensor cat(const std::vector<Tensor>& tensors, int64_t dim) {
  check_first("cat", tensors);
  dim = normalize_dim("cat", dim, tensors[0].dim());
  check_alike("cat", tensors, dim);
  Dims sizes = tensors[0].shape();
  sizes[dim] = 0;
  for (const Tensor& x : tensors) {
    if (__builtin_add_overflow(sizes[dim], x.shape()[dim], &sizes[dim])) {
      fail("cat", "the joined size must fit 64 bits");
    }
  }
  Tensor y(Shape(sizes), tensors[0].dtype());
  int64_t start = 0;
  for (const Tensor& x : tensors) {
    const int64_t stop = start + x.shape()[dim];
    y.slice(dim, start, stop).copy_(x);
    start = stop;
  }
  return y;
}

Tensor stack(const std::vector<Tensor>& tensors, int64_t dim) {
  check_first("stack", tensors);
  dim = normalize_dim("stack", dim, tensors[0].dim() + 1);
  check_alike("stack", tensors, /*dim=*/-1);
  Dims sizes = tensors[0].shape();
  sizes.insert(dim, static_cast<int64_t>(tensors.size()));
  Tensor y(Shape(sizes), tensors[0].dtype());
  for (size_t i = 0; i < tensors.size(); ++i) {
    y.select(dim, static_cast<int64_t>(i)).copy_(tensors[i]);
  }
  return y;
}

std::vector<int64_t> split_sizes(int64_t length, int64_t size) {
  if (size <= 0) {
    fail("split", "size must be positive, got ", size);
  }
  std::vector<int64_t> sizes;
  do {
    sizes.push_back(std::min(length, size));
    length -= sizes.back();
  } while (length > 0);
  return sizes;
}

std::vector<int64_t> chunk_sizes(int64_t length, int64_t chunks) {
  if (chunks <= 0) {
    fail("chunk", "chunks must be positive, got ", chunks);
  }
  const int64_t size = length / chunks + (length % chunks != 0);
  return split_sizes(length, std::max<int64_t>(size, 1));
}

std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim) {
  check_defined("split", x);
  dim = normalize_dim("split", dim, x.dim());
  return split(x, split_sizes(x.shape()[dim], size), dim);
}

std::vector<Tensor> split(
    const Tensor& x, const std::vector<int64_t>& sizes, int64_t dim) {
  check_defined("split", x);
  dim = normalize_dim("split", dim, x.dim());
  int64_t left = x.shape()[dim];
  for (int64_t size : sizes) {
    if (size < 0 || size > left) {
      left = -1;
      break;
    }
    left -= size;
  }
  if (left != 0) {
    fail(
        "split",
        "sizes must be >= 0 and add up to dimension ",
        dim,
        ", got ",
        sizes.size(),
        " sizes for shape ",
        x.shape());
  }
  std::vector<Tensor> views;
  views.reserve(sizes.size());
  int64_t start = 0;
  for (int64_t size : sizes) {
    views.push_back(x.slice(dim, start, start + size));
    start += size;
  }
  return views;
}

std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim) {
  check_defined("chunk", x);
  dim = normalize_dim("chunk", dim, x.dim());
  return split(x, chunk_sizes(x.shape()[dim], chunks), dim);
}

}  // namespace heed
