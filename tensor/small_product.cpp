#include "tensor/small_product.h"

#include <algorithm>

#include "tensor/ceil_div.h"
#include "tensor/simd.h"
#include "tensor/simd_register.h"

namespace heed {
namespace {

/// A tile of C, kRows rows of kVectors vectors, held in registers.
template <typename T, int kBytes, int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_tile(
    const SmallProduct<T>& p, const T* a, const T* b, T* c) {
  using Register = simd::Register<T, kBytes>;
  using Vector = typename Register::Value;
  using InMemory = typename Register::InMemory;
  constexpr int64_t kLanes = Register::kCount;
  Vector sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kVectors; ++j) {
      sum[i][j] = Vector{};
    }
  }
  if (p.add) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
      for (int j = 0; j < kVectors; ++j) {
        sum[i][j] =
            *reinterpret_cast<const InMemory*>(c + i * p.c_row + j * kLanes);
      }
    }
  }
  for (int64_t l = p.k; l > 0; --l, a += p.a_column, b += p.b_row) {
    Vector row[kVectors];
#pragma GCC unroll 16
    for (int j = 0; j < kVectors; ++j) {
      row[j] = *reinterpret_cast<const InMemory*>(b + j * kLanes);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const T factor = a[i * p.a_row];
#pragma GCC unroll 16
      for (int j = 0; j < kVectors; ++j) {
        sum[i][j] += factor * row[j];
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kVectors; ++j) {
      *reinterpret_cast<InMemory*>(c + i * p.c_row + j * kLanes) = sum[i][j];
    }
  }
}

template <typename T, int kBytes, int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_rows(
    const SmallProduct<T>& p, int64_t rows, const T* a, const T* b, T* c) {
  if (rows == kRows) {
    multiply_tile<T, kBytes, kRows, kVectors>(p, a, b, c);
  } else if constexpr (kRows > 1) {
    multiply_rows<T, kBytes, kRows - 1, kVectors>(p, rows, a, b, c);
  }
}

/// The columns of kVectors vectors from b and c on, in strips of about as many
/// rows each: a strip of few rows would wait for its own sums.
template <typename T, int kBytes, int kMaxRows, int kVectors>
[[gnu::always_inline]] inline void multiply_columns(
    const SmallProduct<T>& p, const T* b, T* c) {
  const int64_t strips = ceil_div(p.m, kMaxRows);
  for (int64_t i = 0, row = 0; i < strips; ++i) {
    const int64_t rows = (p.m - row) / (strips - i);
    multiply_rows<T, kBytes, kMaxRows, kVectors>(
        p, rows, p.a + row * p.a_row, b, c + row * p.c_row);
    row += rows;
  }
}

/// The last columns, fewer than a vector: with copies of B and C that are
/// filled up with zeros.
template <typename T, int kBytes, int kMaxRows>
[[gnu::always_inline]] inline void multiply_last_columns(
    const SmallProduct<T>& p, int64_t column) {
  constexpr int64_t kLanes = simd::Register<T, kBytes>::kCount;
  constexpr int64_t kDepth = 64;
  const int64_t columns = p.n - column;
  alignas(64) T b[kDepth * kLanes] = {};
  alignas(64) T c[kMaxRows * kLanes] = {};
  bool add = p.add;
  for (int64_t done = 0; done == 0 || done < p.k; done += kDepth) {
    const int64_t depth = std::min(kDepth, p.k - done);
    for (int64_t l = 0; l < depth; ++l) {
      for (int64_t j = 0; j < columns; ++j) {
        b[l * kLanes + j] = p.b[(done + l) * p.b_row + column + j];
      }
    }
    for (int64_t row = 0; row < p.m; row += kMaxRows) {
      const int64_t rows = std::min<int64_t>(kMaxRows, p.m - row);
      const SmallProduct<T> part{
          .m = rows,
          .n = kLanes,
          .k = depth,
          .a = p.a + row * p.a_row + done * p.a_column,
          .a_row = p.a_row,
          .a_column = p.a_column,
          .b = b,
          .b_row = kLanes,
          .c = c,
          .c_row = kLanes,
          .add = add};
      T* const out = p.c + row * p.c_row + column;
      for (int64_t i = 0; add && i < rows; ++i) {
        std::copy_n(out + i * p.c_row, columns, c + i * kLanes);
      }
      multiply_rows<T, kBytes, kMaxRows, 1>(part, rows, part.a, b, c);
      for (int64_t i = 0; i < rows; ++i) {
        std::copy_n(c + i * kLanes, columns, out + i * p.c_row);
      }
    }
    add = true;
  }
}

/// kWide rows of two vectors and kNarrow of one fit in the registers.
template <typename T, int kBytes, int kWide, int kNarrow>
void multiply_all(const SmallProduct<T>* product) {
  constexpr int64_t kLanes = simd::Register<T, kBytes>::kCount;
  const SmallProduct<T> p = *product;
  int64_t column = 0;
  for (; column + 2 * kLanes <= p.n; column += 2 * kLanes) {
    multiply_columns<T, kBytes, kWide, 2>(p, p.b + column, p.c + column);
  }
  for (; column + kLanes <= p.n; column += kLanes) {
    multiply_columns<T, kBytes, kNarrow, 1>(p, p.b + column, p.c + column);
  }
  if (column < p.n) {
    multiply_last_columns<T, kBytes, kNarrow>(p, column);
  }
}

template <typename T>
void multiply_at_level(const SmallProduct<T>& product) {
  simd::call_own<
      multiply_all<T, 16, 4, 8>,
      multiply_all<T, 32, 6, 8>,
      multiply_all<T, 64, 12, 16>>(&product);
}

}  // namespace

void multiply_small(const SmallProduct<float>& product) {
  multiply_at_level(product);
}

void multiply_small(const SmallProduct<double>& product) {
  multiply_at_level(product);
}

}  // namespace heed
