#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tensor/shape.h"

// Float64 arrays and plain loops over them: what the operations in the table
// are compared with. Slow, and simple enough to be believed.

namespace heed::op_table {

using Index = std::vector<int64_t>;

/// A dense row-major array.
struct Array {
  Shape shape;
  std::vector<double> data;

  double operator()(const Index& index) const;
  int64_t size(int64_t dim) const {
    return shape[dim < 0 ? dim + shape.size() : dim];
  }
  int64_t dim() const { return shape.size(); }
};

using Arrays = std::vector<Array>;
using Reference = std::function<Arrays(const Arrays&)>;

/// The array of f(index) for every index of `shape`.
Array build(const Shape& shape, const std::function<double(const Index&)>& f);

/// Element `index` of x broadcast to the rank of `index`.
double broadcast_at(const Array& x, const Index& index);

/// Element by element, with NumPy's broadcasting.
Reference each(double (*f)(double));
Reference each(double (*f)(double, double));

/// f over all the elements that are reduced into one, in row-major order.
/// No dims: all of them.
using Fold = double (*)(const std::vector<double>&);
Reference fold(Fold f, const Dims& dims, bool keepdim = false);
Reference fold_all(Fold f);
Array fold(const Array& x, Fold f, const Dims& dims, bool keepdim = false);

/// f over each line along `dim`.
using Line = std::vector<double> (*)(const std::vector<double>&);
Reference along(int64_t dim, Line f);

/// The product by NumPy's rule, with vectors and broadcast batches.
Array matmul(const Array& a, const Array& b);

}  // namespace heed::op_table
