#pragma once

#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <type_traits>

#include "tensor/error.h"

namespace heed {

/// The type of a tensor's elements.
enum class DType : uint8_t { float32, float64, int64, boolean };

inline constexpr DType kFloat32 = DType::float32;
inline constexpr DType kFloat64 = DType::float64;
inline constexpr DType kInt64 = DType::int64;
inline constexpr DType kBool = DType::boolean;

/// "float32", "float64", "int64" or "bool".
std::string_view dtype_name(DType dtype);
std::ostream& operator<<(std::ostream& out, DType dtype);

/// Bytes an element takes.
constexpr int64_t itemsize(DType dtype) {
  return dtype == kFloat32 ? 4 : dtype == kBool ? 1 : 8;
}

constexpr bool is_floating(DType dtype) {
  return dtype == kFloat32 || dtype == kFloat64;
}

/// Whether T is one of the four element types.
template <typename T>
inline constexpr bool is_element_v =
    std::is_same_v<T, float> || std::is_same_v<T, double> ||
    std::is_same_v<T, int64_t> || std::is_same_v<T, bool>;

/// The DType of a C++ element type.
template <typename T>
requires is_element_v<T>
inline constexpr DType dtype_of = std::is_same_v<T, float>     ? kFloat32
                                  : std::is_same_v<T, double>  ? kFloat64
                                  : std::is_same_v<T, int64_t> ? kInt64
                                                               : kBool;

template <typename T>
struct TypeTag {
  using type = T;
};

/// Calls f(TypeTag<T>{}) with the C++ type of `dtype`.
template <typename F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::float32:
      return f(TypeTag<float>{});
    case DType::float64:
      return f(TypeTag<double>{});
    case DType::int64:
      return f(TypeTag<int64_t>{});
    case DType::boolean:
      break;
  }
  return f(TypeTag<bool>{});
}

/// As visit_dtype for float32 and float64. Throws std::invalid_argument in the
/// name of `who` for the other two.
template <typename F>
decltype(auto) visit_floating(std::string_view who, DType dtype, F&& f) {
  if (!is_floating(dtype)) {
    fail(who, "dtype must be float32 or float64, got ", dtype_name(dtype));
  }
  return dtype == kFloat32 ? f(TypeTag<float>{}) : f(TypeTag<double>{});
}

/// As visit_dtype for all but bool, which is no number. Throws
/// std::invalid_argument in the name of `who` for bool.
template <typename F>
decltype(auto) visit_number(std::string_view who, DType dtype, F&& f) {
  switch (dtype) {
    case DType::float32:
      return f(TypeTag<float>{});
    case DType::float64:
      return f(TypeTag<double>{});
    case DType::int64:
      return f(TypeTag<int64_t>{});
    case DType::boolean:
      break;
  }
  fail(who, "dtype must be float32, float64 or int64, got bool");
}

}  // namespace heed
