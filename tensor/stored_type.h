#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/input_file.h"
#include "tensor/tensor.h"

namespace heed {

/// The element types that files hold and heed reads: its own, and those whose
/// every value one of its own takes exactly.
enum class StoredType : uint8_t {
  float16,
  bfloat16,
  float32,
  float64,
  boolean,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
};

/// Bytes an element takes in a file.
int64_t itemsize(StoredType type);

/// The type that a dtype is stored as.
StoredType stored_type(DType dtype);

/// Reads shape.numel() elements, row-major: float16 and bfloat16 as float32,
/// all integers as int64. `swapped`: the file's bytes are in the other order
/// than this machine's. The caller has checked that the file has so many bytes.
/// Throws std::runtime_error for a bool that is neither 0 nor 1.
Tensor read_elements(
    InputFile& file, StoredType type, const Shape& shape, bool swapped = false);

/// The address of x's elements and the bytes they take. x is contiguous.
std::span<const std::byte> element_bytes(const Tensor& x);

}  // namespace heed
