#include "tensor/shape.h"

#include <algorithm>
#include <ostream>

#include "tensor/error.h"

namespace heed {

void Dims::fail_rank(int64_t rank) {
  fail("Shape", "at most ", kMaxRank, " dimensions, got ", rank);
}

Dims::Dims(std::initializer_list<int64_t> values)
    : Dims(std::span<const int64_t>(values.begin(), values.size())) {}

Dims::Dims(std::span<const int64_t> values) {
  for (const int64_t value : values) {
    push_back(value);
  }
}

void Dims::insert(int64_t position, int64_t value) {
  push_back(value);
  std::copy_backward(
      values_.begin() + position,
      values_.begin() + size_ - 1,
      values_.begin() + size_);
  values_[position] = value;
}

void Dims::erase(int64_t position) {
  std::copy(
      values_.begin() + position + 1,
      values_.begin() + size_,
      values_.begin() + position);
  --size_;
}

bool Dims::contains(int64_t value) const {
  return std::find(begin(), end(), value) != end();
}

std::ostream& operator<<(std::ostream& out, const Dims& dims) {
  out << '[';
  for (int64_t i = 0; i < dims.size(); ++i) {
    out << (i == 0 ? "" : ", ") << dims[i];
  }
  return out << ']';
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << static_cast<const Dims&>(shape);
}

Shape::Shape(const Dims& sizes) : sizes_(sizes) {
  // The product of the non-zero sizes must fit as well: strides are made of it.
  int64_t nonzero = 1;
  bool has_zero = false;
  for (int64_t size : sizes_) {
    if (size < 0) {
      fail("Shape", "sizes must not be negative, got ", sizes_);
    }
    if (size == 0) {
      has_zero = true;
    } else if (__builtin_mul_overflow(nonzero, size, &nonzero)) {
      fail("Shape", "the number of elements must fit 64 bits, got ", sizes_);
    }
  }
  numel_ = has_zero ? 0 : nonzero;
}

Dims contiguous_strides(const Shape& shape) {
  Dims strides = shape;
  int64_t stride = 1;
  for (int64_t i = shape.size() - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

int64_t normalize_dim(std::string_view who, int64_t dim, int64_t rank) {
  if (dim < -rank || dim >= rank) {
    fail(
        who,
        "dim must be in [",
        -rank,
        ", ",
        rank - 1,
        "], got ",
        dim,
        rank == 0 ? " (the tensor has no dimensions)" : "");
  }
  return dim < 0 ? dim + rank : dim;
}

Dims normalize_dims(std::string_view who, const Dims& dims, int64_t rank) {
  Dims normalized = dims;
  for (int64_t i = 0; i < dims.size(); ++i) {
    normalized[i] = normalize_dim(who, dims[i], rank);
  }
  int64_t* first = dims.empty() ? nullptr : &normalized[0];
  std::sort(first, first + dims.size());
  if (std::adjacent_find(first, first + dims.size()) != first + dims.size()) {
    fail(who, "a dimension must be named once, got ", dims);
  }
  return normalized;
}

Shape broadcast_shapes(std::string_view who, const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  const int64_t lead = longer.size() - shorter.size();
  Dims sizes = longer;
  for (int64_t i = 0; i < shorter.size(); ++i) {
    int64_t& size = sizes[lead + i];
    if (size == 1) {
      size = shorter[i];
    } else if (shorter[i] != 1 && shorter[i] != size) {
      fail(
          who,
          "shapes must broadcast (equal sizes or 1, aligned at the end)",
          ", got ",
          a,
          " and ",
          b);
    }
  }
  return Shape(sizes);
}

bool is_broadcastable_to(const Shape& from, const Shape& to) {
  const int64_t lead = to.size() - from.size();
  if (lead < 0) {
    return false;
  }
  for (int64_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1 && from[i] != to[lead + i]) {
      return false;
    }
  }
  return true;
}

Shape reduced_shape(const Shape& shape, const Dims& dims, bool keepdim) {
  Dims sizes;
  for (int64_t i = 0; i < shape.size(); ++i) {
    if (!dims.contains(i)) {
      sizes.push_back(shape[i]);
    } else if (keepdim) {
      sizes.push_back(1);
    }
  }
  return Shape(sizes);
}

}  // namespace heed
