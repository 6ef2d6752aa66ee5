#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/scalar.h"
#include "tensor/shape.h"
#include "tensor/storage.h"

namespace heed {

/// A strided array of numbers: a small value that refers to shared storage.
///
/// Copying a Tensor copies the reference, not the numbers (clone() copies
/// those). The views below share storage with their source: a write through
/// one is seen by all. A Tensor knows nothing of gradients; Variable does.
///
/// Functions of tensors (exp, sum, matmul, ...) are free functions; members are
/// what looks at a tensor, what views it and, named with a trailing underscore,
/// what writes into it.
class Tensor {
 public:
  /// No tensor at all; only defined() may be asked of it.
  Tensor() = default;
  /// Uninitialised elements, dense and row-major.
  /// Throws std::invalid_argument when the bytes overflow, std::bad_alloc when
  /// there is no memory.
  Tensor(const Shape& shape, DType dtype);

  bool defined() const { return static_cast<bool>(storage_); }
  /// Lets go of the numbers: defined() is false from now on, while shape,
  /// strides and dtype stay.
  void release() { storage_ = Storage(); }

  const Shape& shape() const { return shape_; }
  /// The size of one dimension; `dim` may be negative.
  int64_t size(int64_t dim) const;
  /// Number of dimensions.
  int64_t dim() const { return shape_.size(); }
  /// Number of elements.
  int64_t numel() const { return shape_.numel(); }
  DType dtype() const { return dtype_; }
  /// Elements from one index of a dimension to the next.
  const Dims& strides() const { return strides_; }
  int64_t stride(int64_t dim) const;
  /// Whether the elements are dense and row-major.
  bool is_contiguous() const;

  /// The address of the first element; strides() lead to the others.
  /// Throws std::invalid_argument unless T is the dtype's type.
  template <typename T>
  const T* data() const {
    check_type(dtype_of<T>);
    return reinterpret_cast<const T*>(storage_.data()) + offset_;
  }
  /// As data(), to write to; counts as a write.
  template <typename T>
  T* mutable_data() {
    check_type(dtype_of<T>);
    storage_.bump_version();
    return reinterpret_cast<T*>(storage_.data()) + offset_;
  }

  /// The only element, converted to T.
  /// Throws std::invalid_argument unless there is exactly one.
  template <typename T>
  T item() const;
  /// All elements in row-major order, converted to T.
  template <typename T>
  std::vector<T> to_vector() const;

  /// A copy with elements converted, or this tensor when it has that dtype. To
  /// bool: whether not zero; to int64: truncated, beyond its range the nearest
  /// that it has, 0 for NaN.
  Tensor to(DType dtype) const;
  /// This tensor when dense and row-major, else a copy that is.
  Tensor contiguous() const;
  /// A copy with storage of its own.
  Tensor clone() const;

  // Views. All throw std::invalid_argument for what does not fit.

  /// Same elements in row-major order under another shape; one size may be -1
  /// and is worked out. A view where strides allow it, else a copy.
  Tensor reshape(const Dims& shape) const;
  /// Dimensions start .. end (inclusive) made one. A number becomes [1].
  Tensor flatten(int64_t start = 0, int64_t end = -1) const;
  Tensor transpose(int64_t dim0, int64_t dim1) const;
  /// Dimension i of the result is dimension dims[i] of this.
  Tensor permute(const Dims& dims) const;
  /// Indices start, start + step, ... below stop. Negative start and stop
  /// count from the end; both are clamped to the size. step > 0.
  Tensor slice(
      int64_t dim, int64_t start, int64_t stop, int64_t step = 1) const;
  /// One index of a dimension, which disappears. `index` may be negative.
  Tensor select(int64_t dim, int64_t index) const;
  Tensor operator[](int64_t index) const { return select(0, index); }
  /// Sizes of 1 repeated without copying, new dimensions in front; -1 keeps
  /// a size.
  Tensor expand(const Dims& shape) const;
  /// Removes a dimension of size 1; other sizes stay as they are.
  Tensor squeeze(int64_t dim) const;
  /// Removes all dimensions of size 1.
  Tensor squeeze() const;
  /// Adds a dimension of size 1 before `dim`, which may be dim().
  Tensor unsqueeze(int64_t dim) const;
  /// Any window on the storage that lies within it; strides >= 0.
  Tensor as_strided(
      const Shape& shape, const Dims& strides, int64_t storage_offset) const;

  // Writes. `other` broadcasts to this shape and has this dtype. Reading and
  // writing overlapping memory gives the right answer. All throw
  // std::invalid_argument for what does not fit, and when this tensor is an
  // expanded view, whose elements share memory.

  Tensor& fill_(Scalar value);
  Tensor& zero_() { return fill_(0); }
  Tensor& copy_(const Tensor& other);
  /// this += alpha * other
  Tensor& add_(const Tensor& other, Scalar alpha = 1);
  Tensor& add_(Scalar other);
  Tensor& sub_(const Tensor& other);
  Tensor& sub_(Scalar other);
  Tensor& mul_(const Tensor& other);
  Tensor& mul_(Scalar other);
  Tensor& div_(const Tensor& other);
  Tensor& div_(Scalar other);
  /// Elements outside [low, high] moved to its nearer end; NaN stays.
  Tensor& clamp_(Scalar low, Scalar high);
  /// Sets the elements where `mask`, a bool tensor, is true.
  Tensor& masked_fill_(const Tensor& mask, Scalar value);

  /// How often the storage was written to.
  uint32_t version() const { return storage_.version(); }
  /// Whether both refer to the same storage.
  bool shares_storage(const Tensor& other) const {
    return storage_ == other.storage_;
  }
  /// Whether no other tensor refers to this storage.
  bool is_unique() const { return storage_.use_count() == 1; }
  /// Whether different indices may lead to the same element, as after expand().
  bool has_internal_overlap() const;
  /// Elements between the start of the storage and the first element.
  int64_t storage_offset() const { return offset_; }

 private:
  /// As as_strided(), of a window that is known to fit.
  Tensor window(
      const Shape& shape, const Dims& strides, int64_t storage_offset) const;
  void check_type(DType wanted) const {
    if (dtype_ != wanted || !defined()) {
      fail_type(wanted);
    }
  }
  [[noreturn]] void fail_type(DType wanted) const;

  Storage storage_;
  int64_t offset_ = 0;  // in elements
  Shape shape_;
  Dims strides_;
  DType dtype_ = kFloat32;
};

namespace detail {
[[noreturn]] void fail_undefined(std::string_view who, std::string_view name);
[[noreturn]] void fail_same_dtype(
    std::string_view who, const Tensor& a, const Tensor& b);
[[noreturn]] void fail_same_shape(
    std::string_view who,
    const Tensor& x,
    std::string_view x_name,
    const Tensor& as,
    std::string_view as_name);
}  // namespace detail

/// Throws std::invalid_argument in the name of `who` unless x is defined.
inline void check_defined(
    std::string_view who, const Tensor& x, std::string_view name = "x") {
  if (!x.defined()) {
    detail::fail_undefined(who, name);
  }
}

/// Throws std::invalid_argument in the name of `who` unless both are defined
/// and of one dtype.
inline void check_same_dtype(
    std::string_view who, const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined() || a.dtype() != b.dtype()) {
    detail::fail_same_dtype(who, a, b);
  }
}

/// As check_same_dtype, and unless x has the shape of `as`.
inline void check_alike(
    std::string_view who,
    const Tensor& x,
    std::string_view x_name,
    const Tensor& as,
    std::string_view as_name) {
  check_same_dtype(who, x, as);
  if (x.shape() != as.shape()) {
    detail::fail_same_shape(who, x, x_name, as, as_name);
  }
}

}  // namespace heed
