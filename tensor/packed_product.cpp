#include "tensor/packed_product.h"

#include <algorithm>

#include "tensor/memory.h"
#include "tensor/parallel.h"
#include "tensor/simd.h"
#include "tensor/simd_register.h"
#include "tensor/transpose_rows.h"

namespace heed {
namespace {

// Of k at a time: a panel of B, two registers wide, fits in the first cache.
constexpr int64_t kDepth = 256;
// From one row of A to the next as packed; no power of two, which would put all
// rows of a tile into the same few lines of a cache.
constexpr int64_t kRowStride = kDepth + 16;
// Rows of A at a time: they fit in the second cache, beside panels of B.
constexpr int64_t kBlockRows = 112;
// Of B at a time.
constexpr int64_t kSlabElements = 1 << 20;
constexpr int64_t kSlabColumns = 2048;
// Blocks are a multiple of these, for two or four threads to share out.
constexpr int64_t kShares = 4;

/// Room for packed numbers, from the pool.
template <typename T>
class Buffer {
 public:
  explicit Buffer(int64_t count)
      : bytes_(static_cast<size_t>(count) * sizeof(T)),
        data_(static_cast<T*>(detail::block_allocate(bytes_))) {}
  ~Buffer() { detail::block_free(data_, bytes_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  T* data() const { return data_; }

 private:
  size_t bytes_;
  T* data_;
};

int64_t ceil_div(int64_t n, int64_t d) { return (n + d - 1) / d; }

/// The rows [first, first + depth) and columns [column, column + columns) of
/// op(B), packed: for each kDepth rows, panels of as many columns as two
/// registers hold, each row by row.
template <typename T>
struct Slab {
  Gemm<T> product;
  int64_t first;
  int64_t depth;
  int64_t column;
  int64_t columns;
  T* packed;
};

template <typename T, int kBytes>
constexpr int64_t kPanelColumns = 2 * simd::Register<T, kBytes>::kCount;

/// Packs a panel of op(B); the last one is filled up with zeros or copies.
template <typename T, int kBytes>
void pack_panel(const Slab<T>* slab, int64_t panel) {
  constexpr int64_t kColumns = kPanelColumns<T, kBytes>;
  constexpr int64_t kAhead = 8;  // rows, which lie far apart
  const Gemm<T>& p = slab->product;
  const int64_t padded = ceil_div(slab->columns, kColumns) * kColumns;
  const int64_t column = slab->column + panel * kColumns;
  const int64_t columns = std::min(kColumns, slab->columns - panel * kColumns);
  for (int64_t done = 0; done < slab->depth; done += kDepth) {
    const int64_t depth = std::min(kDepth, slab->depth - done);
    const int64_t first = slab->first + done;
    T* y = slab->packed + done * padded + panel * depth * kColumns;
    if (p.trans_b) {
      transpose_rows<T, kBytes>(
          p.b + column * p.ldb + first,
          p.ldb,
          columns,
          depth,
          kColumns,
          T(1),
          y,
          kColumns);
      continue;
    }
    for (int64_t l = 0; l < depth; ++l, y += kColumns) {
      const T* const row = p.b + (first + l) * p.ldb + column;
      const T* const ahead = row + std::min(kAhead, depth - 1 - l) * p.ldb;
      __builtin_prefetch(ahead);
      __builtin_prefetch(ahead + columns - 1);
      std::copy_n(row, columns, y);
      std::fill(y + columns, y + kColumns, T(0));
    }
  }
}

/// Packs op(A) [rows, depth] from its `row` and `first` on: row by row.
template <typename T, int kBytes>
[[gnu::always_inline]] inline void pack_rows(
    const Gemm<T>& p,
    int64_t row,
    int64_t rows,
    int64_t first,
    int64_t depth,
    T* y) {
  if (p.trans_a) {
    constexpr int64_t kCount = simd::Register<T, kBytes>::kCount;
    transpose_rows<T, kBytes>(
        p.a + first * p.lda + row,
        p.lda,
        depth,
        rows,
        ceil_div(depth, kCount) * kCount,
        T(1),
        y,
        kRowStride);
    return;
  }
  constexpr int64_t kAhead = 4;
  constexpr int64_t kLine = 64 / sizeof(T);
  for (int64_t i = 0; i < rows; ++i) {
    const T* const x = p.a + (row + i) * p.lda + first;
    const T* const ahead = x + std::min(kAhead, rows - 1 - i) * p.lda;
    for (int64_t l = 0; l < depth; l += kLine) {
      __builtin_prefetch(ahead + l);
    }
    std::copy_n(x, depth, y + i * kRowStride);
  }
}

/// A part of C as wide as a panel, and what it is computed from, packed.
template <typename T>
struct Tile {
  int64_t depth;
  const T* a;
  const T* b;
  const T* next_b;  // to be fetched meanwhile, next_step for every four of k
  int64_t next_step;
  T* c;
  int64_t ldc;
  T alpha;
  T beta;
  const T* bias;
};

/// c = alpha a b + bias, or + beta c; kRows by two registers of sums.
template <typename T, int kBytes, int kRows>
[[gnu::always_inline]] inline void multiply_tile(const Tile<T>& tile) {
  using Register = simd::Register<T, kBytes>;
  using Vector = typename Register::Value;
  using InMemory = typename Register::InMemory;
  constexpr int64_t kCount = Register::kCount;
  Vector sum[kRows][2];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    sum[i][0] = Vector{};
    sum[i][1] = Vector{};
    __builtin_prefetch(tile.c + i * tile.ldc, 1);
    __builtin_prefetch(tile.c + i * tile.ldc + 2 * kCount - 1, 1);
  }
  const T* a = tile.a;
  const T* b = tile.b;
  const T* next = tile.next_b;
  for (int64_t l = 0; l < tile.depth; ++l, ++a, b += 2 * kCount) {
    if (l % 4 == 0) {
      __builtin_prefetch(next, 0, 2);
      next += tile.next_step;
    }
    const Vector left = *reinterpret_cast<const InMemory*>(b);
    const Vector right = *reinterpret_cast<const InMemory*>(b + kCount);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      sum[i][0] += a[i * kRowStride] * left;
      sum[i][1] += a[i * kRowStride] * right;
    }
  }
  T* c = tile.c;
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i, c += tile.ldc) {
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      auto* const out = reinterpret_cast<InMemory*>(c + j * kCount);
      Vector value = tile.alpha * sum[i][j];
      if (tile.bias != nullptr) {
        value += *reinterpret_cast<const InMemory*>(tile.bias + j * kCount);
      } else if (tile.beta != 0) {
        value += tile.beta * *out;
      }
      *out = value;
    }
  }
}

template <typename T, int kBytes, int kRows>
[[gnu::always_inline]] inline void multiply_rows(
    int64_t rows, const Tile<T>& tile) {
  if (rows == kRows) {
    multiply_tile<T, kBytes, kRows>(tile);
  } else if constexpr (kRows > 1) {
    multiply_rows<T, kBytes, kRows - 1>(rows, tile);
  }
}

/// Stands in for the last columns of C and of the bias, fewer than a panel has.
template <typename T, int kBytes, int kRows>
struct Edge {
  static constexpr int64_t kColumns = kPanelColumns<T, kBytes>;
  alignas(64) T c[kRows * kColumns] = {};
  alignas(64) T bias[kColumns] = {};

  Tile<T> replace(Tile<T> tile, int64_t rows, int64_t columns) {
    for (int64_t i = 0; i < rows && tile.beta != 0; ++i) {
      std::copy_n(tile.c + i * tile.ldc, columns, c + i * kColumns);
    }
    if (tile.bias != nullptr) {
      std::copy_n(tile.bias, columns, bias);
      tile.bias = bias;
    }
    tile.c = c;
    tile.ldc = kColumns;
    return tile;
  }

  void copy_to(const Tile<T>& tile, int64_t rows, int64_t columns) const {
    for (int64_t i = 0; i < rows; ++i) {
      std::copy_n(c + i * kColumns, columns, tile.c + i * tile.ldc);
    }
  }
};

/// A block of C: rows [row, row + rows), panels [panel, panel_end) of a slab.
struct Block {
  int64_t row;
  int64_t rows;
  int64_t panel;
  int64_t panel_end;
};

/// Adds what a slab contributes to a block; `a` is room for packed rows.
template <typename T, int kBytes, int kRows>
void multiply_block(const Slab<T>* slab, const Block* block, T* a) {
  constexpr int64_t kColumns = kPanelColumns<T, kBytes>;
  const Gemm<T>& p = slab->product;
  const int64_t padded = ceil_div(slab->columns, kColumns) * kColumns;
  Edge<T, kBytes, kRows> edge;
  // Of about as many rows each: one of few rows would wait for its own sums.
  const int64_t strips = ceil_div(block->rows, kRows);
  for (int64_t done = 0; done < slab->depth; done += kDepth) {
    const int64_t depth = std::min(kDepth, slab->depth - done);
    const bool is_first = slab->first + done == 0;
    pack_rows<T, kBytes>(
        p, block->row, block->rows, slab->first + done, depth, a);
    for (int64_t j = block->panel; j < block->panel_end; ++j) {
      const T* const b = slab->packed + done * padded + j * depth * kColumns;
      const int64_t column = slab->column + j * kColumns;
      const int64_t columns = std::min(kColumns, slab->columns - j * kColumns);
      const int64_t to_next = j + 1 < block->panel_end ? depth * kColumns : 0;
      for (int64_t i = 0, row = 0; i < strips; ++i) {
        const int64_t rows = (block->rows - row) / (strips - i);
        const Tile<T> tile{
            .depth = depth,
            .a = a + row * kRowStride,
            .b = b,
            .next_b = b + to_next + i * depth * kColumns / strips,
            .next_step = 4 * kColumns / strips,
            .c = p.c + (block->row + row) * p.ldc + column,
            .ldc = p.ldc,
            .alpha = p.alpha,
            .beta = is_first ? p.beta : T(1),
            .bias = is_first && p.bias ? p.bias + column : nullptr};
        const bool whole = columns == kColumns;
        multiply_rows<T, kBytes, kRows>(
            rows, whole ? tile : edge.replace(tile, rows, columns));
        if (!whole) {
          edge.copy_to(tile, rows, columns);
        }
        row += rows;
      }
    }
  }
}

template <typename T>
void pack(const Slab<T>& slab, int64_t panel_columns) {
  parallel_for(
      ceil_div(slab.columns, panel_columns),
      grain_for(slab.depth * panel_columns / 4),
      [&](int64_t panel, int64_t end) {
        for (; panel < end; ++panel) {
          simd::
              call_own<pack_panel<T, 16>, pack_panel<T, 32>, pack_panel<T, 64>>(
                  &slab, panel);
        }
      });
}

/// Cuts C by size alone, down first: what is across packs its rows again.
template <typename T>
void multiply(const Slab<T>& slab, int64_t panel_columns) {
  const int64_t m = slab.product.m;
  const int64_t panels = ceil_div(slab.columns, panel_columns);
  int64_t down = ceil_div(m, kBlockRows);
  if (down > kShares / 2) {
    down = ceil_div(down, kShares) * kShares;
  }
  const int64_t across = std::min(panels, ceil_div(kShares, down));
  parallel_for(down * across, 1, [&](int64_t i, int64_t end) {
    const Buffer<T> a(ceil_div(m, down) * kRowStride);
    for (; i < end; ++i) {
      const int64_t y = i / across;
      const int64_t x = i % across;
      const int64_t row = m * y / down;
      const Block block{
          .row = row,
          .rows = m * (y + 1) / down - row,
          .panel = panels * x / across,
          .panel_end = panels * (x + 1) / across};
      simd::call_own<
          multiply_block<T, 16, 4>,
          multiply_block<T, 32, 6>,
          multiply_block<T, 64, 14>>(&slab, &block, a.data());
    }
  });
}

int64_t register_bytes() {
  switch (simd::level()) {
    case simd::Level::avx512:
      return 64;
    case simd::Level::avx2:
      return 32;
    case simd::Level::baseline:
      break;
  }
  return 16;
}

}  // namespace

template <typename T>
bool is_large(const Gemm<T>& p) {
  constexpr double kLarge = 1 << 20;
  return simd::level() == simd::Level::avx512 && p.m >= 8 && p.n >= 16 &&
         1.0 * p.m * p.n * p.k >= kLarge;
}

template <typename T>
void multiply_packed(const Gemm<T>& p) {
  const int64_t panel_columns =
      2 * register_bytes() / static_cast<int64_t>(sizeof(T));
  const int64_t columns =
      std::min(ceil_div(p.n, panel_columns) * panel_columns, kSlabColumns);
  const int64_t depth =
      std::min(p.k, kSlabElements / columns / kDepth * kDepth);
  const Buffer<T> packed(depth * columns);
  for (int64_t column = 0; column < p.n; column += columns) {
    for (int64_t first = 0; first < p.k; first += depth) {
      const Slab<T> slab{
          .product = p,
          .first = first,
          .depth = std::min(depth, p.k - first),
          .column = column,
          .columns = std::min(columns, p.n - column),
          .packed = packed.data()};
      pack(slab, panel_columns);
      multiply(slab, panel_columns);
    }
  }
}

template bool is_large(const Gemm<float>&);
template bool is_large(const Gemm<double>&);
template void multiply_packed(const Gemm<float>&);
template void multiply_packed(const Gemm<double>&);

}  // namespace heed
