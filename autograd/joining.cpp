#include "autograd/joining.h"

#include "autograd/record.h"

namespace heed {
namespace {

std::vector<Tensor> values_of(const std::vector<Variable>& variables) {
  std::vector<Tensor> values;
  values.reserve(variables.size());
  for (const Variable& x : variables) {
    values.push_back(value_or_undefined(x));
  }
  return values;
}

}  // namespace

Variable cat(const std::vector<Variable>& variables, int64_t dim) {
  const Tensor y = cat(values_of(variables), dim);
  std::vector<int64_t> sizes;
  for (const Variable& x : variables) {
    sizes.push_back(x.size(dim));
  }
  return record("cat", y, variables, [sizes, dim](const Variable& dy) {
    return split(dy, sizes, dim);
  });
}

Variable stack(const std::vector<Variable>& variables, int64_t dim) {
  const Tensor y = stack(values_of(variables), dim);
  return record("stack", y, variables, [dim](const Variable& dy) {
    std::vector<Variable> dx;
    for (int64_t i = 0; i < dy.size(dim); ++i) {
      dx.push_back(dy.select(dim, i));
    }
    return dx;
  });
}

std::vector<Variable> split(const Variable& x, int64_t size, int64_t dim) {
  return split(x, split_sizes(x.size(dim), size), dim);
}

std::vector<Variable> split(
    const Variable& x, const std::vector<int64_t>& sizes, int64_t dim) {
  split(x.value(), sizes, dim);  // checks
  std::vector<Variable> views;
  views.reserve(sizes.size());
  int64_t start = 0;
  for (int64_t size : sizes) {
    views.push_back(x.slice(dim, start, start + size));
    start += size;
  }
  return views;
}

std::vector<Variable> chunk(const Variable& x, int64_t chunks, int64_t dim) {
  return split(x, chunk_sizes(x.size(dim), chunks), dim);
}

}  // namespace heed
