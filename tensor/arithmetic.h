#pragma once

#include <cstdint>
#include <type_traits>

namespace heed::arithmetic {

// + - * of two elements. Integers wrap around where the result does not fit,
// which in plain C++ is undefined.

template <typename T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;

inline constexpr auto add = []<typename T>(T a, T b) {
  return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b));
};
inline constexpr auto subtract = []<typename T>(T a, T b) {
  return static_cast<T>(Wrapping<T>(a) - Wrapping<T>(b));
};
inline constexpr auto multiply = []<typename T>(T a, T b) {
  return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b));
};

}  // namespace heed::arithmetic
