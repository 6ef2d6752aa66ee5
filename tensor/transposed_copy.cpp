#include "tensor/transposed_copy.h"

#include <algorithm>

#include "tensor/ceil_div.h"
#include "tensor/parallel.h"
#include "tensor/strided_loop.h"

namespace heed {
namespace {

constexpr int64_t kSide = 16;  // of a square: 64 bytes of float32

// y [rows, columns], adjacent in a row, from x, adjacent in a column.
template <typename T>
void copy_square(
    const T* x,
    int64_t x_stride,
    T* y,
    int64_t y_stride,
    int64_t rows,
    int64_t columns) {
  T square[kSide * kSide];
  for (int64_t j = 0; j < columns; ++j) {
    std::copy_n(x + j * x_stride, rows, square + j * kSide);
  }
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      y[i * y_stride + j] = square[j * kSide + i];
    }
  }
}

// The dimension, not the last, along which elements are adjacent; -1: none.
int64_t adjacent_dim(const Shape& shape, const Dims& strides) {
  for (int64_t d = 0; d < shape.size() - 1; ++d) {
    if (strides[d] == 1 && shape[d] > 1) {
      return d;
    }
  }
  return -1;
}

}  // namespace

bool copy_transposed(Tensor& y, const Tensor& x) {
  const Shape& shape = y.shape();
  const Dims& to = y.strides();
  const Dims from = broadcast_strides(x, shape);
  const int64_t last = shape.size() - 1;
  const int64_t down = adjacent_dim(shape, from);
  if (down < 0 || y.numel() == 0 || to[last] != 1 || from[last] == 1 ||
      shape[last] == 1) {
    return false;
  }
  // Strips of kSide columns, all the way down.
  const int64_t rows = shape[down];
  const int64_t columns = shape[last];
  const int64_t strips = ceil_div(columns, kSide);
  visit_dtype(y.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* const in = x.data<T>();
    T* const out = y.mutable_data<T>();
    parallel_for(
        y.numel() / (rows * columns) * strips,
        grain_for(rows * kSide),
        [&](int64_t item, int64_t end) {
          for (; item < end; ++item) {
            const int64_t column = item % strips * kSide;
            const int64_t width = std::min(kSide, columns - column);
            const T* a = in + column * from[last];
            T* b = out + column;
            int64_t rest = item / strips;
            for (int64_t d = last - 1; d >= 0; --d) {
              if (d != down) {
                a += rest % shape[d] * from[d];
                b += rest % shape[d] * to[d];
                rest /= shape[d];
              }
            }
            for (int64_t row = 0; row < rows; row += kSide) {
              copy_square(
                  a + row,
                  from[last],
                  b + row * to[down],
                  to[down],
                  std::min(kSide, rows - row),
                  width);
            }
          }
        });
  });
  return true;
}

}  // namespace heed
