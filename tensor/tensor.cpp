#include "tensor/tensor.h"

#include <limits>

#include "tensor/elementwise_loop.h"

namespace heed {
namespace {

// A number as another type. Integers take the integer part of a floating
// number, or the nearest integer there is; 0 for NaN.
template <typename To, typename From>
To converted(From v) {
  if constexpr (
      std::is_floating_point_v<From> && std::is_integral_v<To> &&
      !std::is_same_v<To, bool>) {
    using Limits = std::numeric_limits<To>;
    // 2^63 or 2^31 exactly, which is one too many.
    constexpr From kBeyond = -static_cast<From>(Limits::min());
    if (v != v) {
      return 0;
    }
    return v >= kBeyond    ? Limits::max()
           : v <= -kBeyond ? Limits::min()
                           : static_cast<To>(v);
  } else {
    return static_cast<To>(v);
  }
}

}  // namespace

Tensor::Tensor(const Shape& shape, DType dtype)
    : shape_(shape), strides_(contiguous_strides(shape)), dtype_(dtype) {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(shape.numel(), itemsize(dtype), &bytes) ||
      bytes > int64_t{1} << 56) {
    fail("Tensor", "the bytes must fit memory, got shape ", shape);
  }
  storage_ = Storage(bytes);
}

int64_t Tensor::size(int64_t dim) const {
  return shape_[normalize_dim("size", dim, this->dim())];
}

int64_t Tensor::stride(int64_t dim) const {
  return strides_[normalize_dim("stride", dim, this->dim())];
}

bool Tensor::is_contiguous() const {
  if (numel() == 0) {
    return true;
  }
  int64_t expected = 1;
  for (int64_t i = dim() - 1; i >= 0; --i) {
    if (shape_[i] != 1 && strides_[i] != expected) {
      return false;
    }
    expected *= shape_[i];
  }
  return true;
}

bool Tensor::has_internal_overlap() const {
  if (numel() <= 1 || is_contiguous()) {
    return false;
  }
  // From the smallest stride on: a step must lead beyond what the dimensions
  // before it reach. Windows that interlace count as overlapping, too.
  Dims order;
  for (int64_t i = 0; i < dim(); ++i) {
    int64_t at = 0;
    while (at < order.size() && strides_[order[at]] <= strides_[i]) {
      ++at;
    }
    order.insert(at, i);
  }
  int64_t reach = 0;
  for (const int64_t i : order) {
    if (shape_[i] > 1 && strides_[i] <= reach) {
      return true;
    }
    reach += (shape_[i] - 1) * strides_[i];
  }
  return false;
}

void Tensor::fail_type(DType wanted) const {
  if (!defined()) {
    fail("data", "the tensor must be defined");
  }
  fail("data", "the element type must be ", dtype_, ", got ", wanted);
}

template <typename T>
T Tensor::item() const {
  check_defined("item", *this, "the tensor");
  if (numel() != 1) {
    fail("item", "the tensor must have one element, got shape ", shape_);
  }
  return visit_dtype(
      dtype_, [&]<typename E>(TypeTag<E>) { return converted<T>(*data<E>()); });
}

template <typename T>
std::vector<T> Tensor::to_vector() const {
  check_defined("to_vector", *this, "the tensor");
  const Tensor dense = to(dtype_of<T>).contiguous();
  const T* first = dense.data<T>();
  return std::vector<T>(first, first + dense.numel());
}

template float Tensor::item<float>() const;
template double Tensor::item<double>() const;
template int64_t Tensor::item<int64_t>() const;
template bool Tensor::item<bool>() const;
template int Tensor::item<int>() const;
template std::vector<float> Tensor::to_vector<float>() const;
template std::vector<double> Tensor::to_vector<double>() const;
template std::vector<int64_t> Tensor::to_vector<int64_t>() const;
template std::vector<bool> Tensor::to_vector<bool>() const;

Tensor Tensor::to(DType dtype) const {
  check_defined("to", *this, "the tensor");
  if (dtype == dtype_) {
    return *this;
  }
  Tensor y(shape_, dtype);
  visit_dtype(dtype_, [&]<typename From>(TypeTag<From>) {
    visit_dtype(dtype, [&]<typename To>(TypeTag<To>) {
      map_into<From, To>(y, *this, 1, [](From v) { return converted<To>(v); });
    });
  });
  return y;
}

Tensor Tensor::contiguous() const {
  check_defined("contiguous", *this, "the tensor");
  return is_contiguous() ? *this : clone();
}

Tensor Tensor::clone() const {
  check_defined("clone", *this, "the tensor");
  Tensor copy(shape_, dtype_);
  copy.copy_(*this);
  return copy;
}

void detail::fail_undefined(std::string_view who, std::string_view name) {
  fail(who, name, " must be defined, got an empty handle");
}

void detail::fail_same_shape(
    std::string_view who,
    const Tensor& x,
    std::string_view x_name,
    const Tensor& as,
    std::string_view as_name) {
  fail(
      who,
      x_name,
      " must have the shape of ",
      as_name,
      ", ",
      as.shape(),
      ", got ",
      x.shape());
}

void detail::fail_same_dtype(
    std::string_view who, const Tensor& a, const Tensor& b) {
  check_defined(who, a, "a");
  check_defined(who, b, "b");
  fail(
      who,
      "both must have one dtype, got ",
      a.dtype(),
      " ",
      a.shape(),
      " and ",
      b.dtype(),
      " ",
      b.shape(),
      "; convert one with to()");
}

}  // namespace heed
