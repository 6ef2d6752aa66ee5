#pragma once

#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <type_traits>

#include "tensor/dtype.h"

namespace heed {

/// A plain C++ number used beside a tensor. It takes the tensor's dtype, as in
/// Python: `x * 2` and `x * 0.5` leave a float32 x float32.
class Scalar {
 public:
  template <typename T>
  requires std::is_arithmetic_v<T> Scalar(T value)
      : real_(static_cast<double>(value)),
        integer_(std::is_integral_v<T> ? static_cast<int64_t>(value) : 0),
        is_integer_(std::is_integral_v<T>) {}

  /// The number as an element of type T. Throws std::invalid_argument in the
  /// name of `who` when T is an integer and this is not.
  template <typename T>
  T as(std::string_view who) const {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(real_);
    } else {
      if (!is_integer_) {
        fail(
            who,
            "a tensor of dtype ",
            dtype_name(dtype_of<T>),
            " takes integer scalars, got ",
            real_);
      }
      return static_cast<T>(integer_);
    }
  }

  double real() const { return real_; }
  bool is_integer() const { return is_integer_; }

 private:
  double real_;
  int64_t integer_;
  bool is_integer_;
};

}  // namespace heed
