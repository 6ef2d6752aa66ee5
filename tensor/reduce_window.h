#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace heed {

/// An array [outer, count, inner] to be reduced over `count`. Elements of inner
/// are adjacent; without inner, those of count are.
struct ReduceWindow {
  int64_t outer = 1;
  int64_t count = 1;
  int64_t inner = 1;
  int64_t outer_stride = 0;
  int64_t count_stride = 0;
};

/// x, or a dense copy of it where its strides ask for one, seen as a window
/// whose `count` is dimensions first .. last - 1.
struct ReduceSource {
  ReduceSource(const Tensor& x, int64_t first, int64_t last);

  Tensor elements;
  ReduceWindow window;
  Shape reduced;  ///< That of x, with those dimensions of size 1.
};

/// The dimensions of x, outermost in memory first.
Dims dims_by_stride(const Tensor& x);

/// The number of elements that reducing `dims` (normalised) folds into one.
int64_t reduced_count(const Shape& shape, const Dims& dims);

}  // namespace heed
