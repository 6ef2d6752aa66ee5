#pragma once

#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "tensor/tensor.h"

namespace heed {

/// Elements all 0, or false.
Tensor zeros(const Shape& shape, DType dtype = kFloat32);
/// Elements all 1, or true.
Tensor ones(const Shape& shape, DType dtype = kFloat32);
/// Elements all `value`. Throws std::invalid_argument when an integer dtype is
/// to take a value with a fraction's type.
Tensor full(const Shape& shape, Scalar value, DType dtype = kFloat32);

/// As above with the shape and dtype of x.
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);
Tensor full_like(const Tensor& x, Scalar value);

/// start, start + step, ... up to but without `stop`:
///
///     arange(4)           // int64 [0, 1, 2, 3]
///     arange(0, 1, 0.25)  // float32 [0, 0.25, 0.5, 0.75]
///
/// int64 when all numbers are integers, else float32, unless a dtype is given.
/// Element i is start + i * step, worked out in int64 or double. Empty when
/// `stop` does not lie ahead.
/// Shape: [max(0, ceil((stop - start) / step))]
/// Throws std::invalid_argument when step is 0, for infinity or NaN, for bool,
/// and when an int64 range is given fractions.
Tensor arange(Scalar stop);
Tensor arange(Scalar stop, DType dtype);
Tensor arange(Scalar start, Scalar stop, Scalar step = 1);
Tensor arange(Scalar start, Scalar stop, Scalar step, DType dtype);

/// Numbers written out, nested to any rank; what tensor() takes.
class Values {
 public:
  template <typename T>
  requires std::is_arithmetic_v<T> Values(T value)
      : scalar_(value), is_bool_(std::is_same_v<T, bool>) {}
  Values(std::initializer_list<Values> items)
      : scalar_(0), is_list_(true), items_(items) {}

  bool is_list() const { return is_list_; }
  bool is_bool() const { return is_bool_; }
  const Scalar& scalar() const { return scalar_; }
  const std::vector<Values>& items() const { return items_; }

 private:
  Scalar scalar_;
  bool is_bool_ = false;
  bool is_list_ = false;
  std::vector<Values> items_;
};

/// A tensor from numbers written out:
///
///     tensor(2.5)               // float32, shape []
///     tensor({1, 2, 3})         // int64, shape [3]
///     tensor({{1., 2.}, {3, 4}})  // float32, shape [2, 2]
///     tensor({true, false})     // bool
///
/// bool when all are bools, int64 when all are integers, else float32, unless a
/// dtype is given.
/// Throws std::invalid_argument when rows differ in length or depth, and when
/// an integer dtype is to take fractions.
Tensor tensor(const Values& values);
Tensor tensor(const Values& values, DType dtype);

/// A copy of numbers in memory, row-major, with the dtype of T: float gives
/// float32, double float64, int and int64_t int64, bool bool.
/// Throws std::invalid_argument unless there are as many as `shape` holds.
template <typename T>
Tensor from_vector(const std::vector<T>& values, const Shape& shape);
/// As above; one dimension.
template <typename T>
Tensor from_vector(const std::vector<T>& values);
/// As above from shape.numel() numbers at `values`, which may be nullptr only
/// when there are none.
template <typename T>
Tensor from_buffer(const T* values, const Shape& shape);

}  // namespace heed
