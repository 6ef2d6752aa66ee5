#include "tensor/stored_type.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace heed {
namespace {

float from_float16(uint16_t half) {
  const uint32_t sign = (half & 0x8000u) << 16;
  const uint32_t rest = (half & 0x7fffu) << 13;
  if (rest >= 0x0f80'0000u) {  // infinity and NaN
    return std::bit_cast<float>(sign | 0x7f80'0000u | rest);
  }
  // A float's exponent is biased by 127 instead of 15.
  const float magnitude = std::bit_cast<float>(rest) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

float from_bfloat16(uint16_t half) {
  return std::bit_cast<float>(static_cast<uint32_t>(half) << 16);
}

template <typename Bits>
Bits byte_swapped(Bits bits) {
  if constexpr (sizeof(Bits) == 8) {
    return __builtin_bswap64(bits);
  } else if constexpr (sizeof(Bits) == 4) {
    return __builtin_bswap32(bits);
  } else if constexpr (sizeof(Bits) == 2) {
    return __builtin_bswap16(bits);
  }
  return bits;
}

/// Reads n elements of Bits to the end of the room for n of Out, then converts
/// them from the front: no element is written over before it was read.
template <typename Bits, typename Out, typename Convert>
void read_converted(
    InputFile& file, Out* out, int64_t n, bool swapped, Convert convert) {
  static_assert(sizeof(Bits) <= sizeof(Out));
  auto* to = reinterpret_cast<std::byte*>(out);
  std::byte* from = to + n * (sizeof(Out) - sizeof(Bits));
  file.read(from, n * static_cast<int64_t>(sizeof(Bits)));
  for (int64_t i = 0; i < n; ++i) {
    Bits bits;
    std::memcpy(&bits, from + i * sizeof(Bits), sizeof bits);
    const Out value = convert(swapped ? byte_swapped(bits) : bits);
    std::memcpy(to + i * sizeof(Out), &value, sizeof value);
  }
}

template <typename Bits, typename T>
Tensor read_integers(InputFile& file, const Shape& shape, bool swapped) {
  Tensor x(shape, kInt64);
  read_converted<Bits>(
      file,
      x.mutable_data<int64_t>(),
      x.numel(),
      swapped,
      [](Bits bits) -> int64_t { return std::bit_cast<T>(bits); });
  return x;
}

Tensor read_halves(
    InputFile& file,
    const Shape& shape,
    bool swapped,
    float (*convert)(uint16_t)) {
  Tensor x(shape, kFloat32);
  read_converted<uint16_t>(
      file, x.mutable_data<float>(), x.numel(), swapped, convert);
  return x;
}

/// Elements that are stored as they are in memory.
template <typename Bits, typename T>
Tensor read_same(InputFile& file, const Shape& shape, bool swapped) {
  Tensor x(shape, dtype_of<T>);
  T* data = x.mutable_data<T>();
  if (swapped) {
    read_converted<Bits>(file, data, x.numel(), swapped, [](Bits bits) {
      return std::bit_cast<T>(bits);
    });
  } else {
    file.read(data, x.numel() * static_cast<int64_t>(sizeof(T)));
  }
  return x;
}

Tensor read_bools(InputFile& file, const Shape& shape) {
  Tensor x(shape, kBool);
  auto* bytes = reinterpret_cast<unsigned char*>(x.mutable_data<bool>());
  file.read(bytes, x.numel());
  const auto* wrong =
      std::find_if(bytes, bytes + x.numel(), [](auto b) { return b > 1; });
  if (wrong != bytes + x.numel()) {
    file.reject("a bool must be 0 or 1, got ", static_cast<int>(*wrong));
  }
  return x;
}

}  // namespace

int64_t itemsize(StoredType type) {
  switch (type) {
    case StoredType::boolean:
    case StoredType::int8:
    case StoredType::uint8:
      return 1;
    case StoredType::float16:
    case StoredType::bfloat16:
    case StoredType::int16:
    case StoredType::uint16:
      return 2;
    case StoredType::float32:
    case StoredType::int32:
    case StoredType::uint32:
      return 4;
    case StoredType::float64:
    case StoredType::int64:
      break;
  }
  return 8;
}

StoredType stored_type(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return StoredType::float32;
    case DType::float64:
      return StoredType::float64;
    case DType::int64:
      return StoredType::int64;
    case DType::boolean:
      break;
  }
  return StoredType::boolean;
}

Tensor read_elements(
    InputFile& file, StoredType type, const Shape& shape, bool swapped) {
  switch (type) {
    case StoredType::float16:
      return read_halves(file, shape, swapped, from_float16);
    case StoredType::bfloat16:
      return read_halves(file, shape, swapped, from_bfloat16);
    case StoredType::float32:
      return read_same<uint32_t, float>(file, shape, swapped);
    case StoredType::float64:
      return read_same<uint64_t, double>(file, shape, swapped);
    case StoredType::int8:
      return read_integers<uint8_t, int8_t>(file, shape, swapped);
    case StoredType::int16:
      return read_integers<uint16_t, int16_t>(file, shape, swapped);
    case StoredType::int32:
      return read_integers<uint32_t, int32_t>(file, shape, swapped);
    case StoredType::int64:
      return read_same<uint64_t, int64_t>(file, shape, swapped);
    case StoredType::uint8:
      return read_integers<uint8_t, uint8_t>(file, shape, swapped);
    case StoredType::uint16:
      return read_integers<uint16_t, uint16_t>(file, shape, swapped);
    case StoredType::uint32:
      return read_integers<uint32_t, uint32_t>(file, shape, swapped);
    case StoredType::boolean:
      break;
  }
  return read_bools(file, shape);
}

std::span<const std::byte> element_bytes(const Tensor& x) {
  return visit_dtype(x.dtype(), [&]<typename T>(TypeTag<T>) {
    return std::as_bytes(
        std::span(x.data<T>(), static_cast<size_t>(x.numel())));
  });
}

}  // namespace heed
