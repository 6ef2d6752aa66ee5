#include "tensor/packed_product.h"

#include <algorithm>

#include "tensor/ceil_div.h"
#include "tensor/memory.h"
#include "tensor/parallel.h"
#include "tensor/simd.h"
#include "tensor/simd_register.h"
#include "tensor/transpose_rows.h"

namespace heed {
namespace {

// Of k at a time: a panel of B, four registers wide, is 32 KiB.
constexpr int64_t kDepth = 128;
// From one row of A to the next as packed; no power of two, which would put all
// rows of a tile into the same few lines of a cache.
constexpr int64_t kRowStride = kDepth + 16;
// Rows of A at a time: they fit in the second cache, beside panels of B.
constexpr int64_t kBlockRows = 112;
// Of B at a time: numbers, and columns.
constexpr int64_t kSlabElements = 1 << 20;
constexpr int64_t kSlabColumns = 2048;
// Blocks are a multiple of these, for two or four threads to share out.
constexpr int64_t kShares = 4;

// A tile of C at a level whose registers are of kBytes: its rows, and registers
// in each; a panel of B is as wide. With AVX-512, as many sums as fit in 32
// registers; at the levels where BLAS is taken, and only tests come here, few:
// each size of a tile makes the library larger.
template <int kBytes>
inline constexpr int kTileRows = kBytes == 64 ? 6 : 2;
template <int kBytes>
inline constexpr int kTileVectors = kBytes == 64 ? 4 : 2;

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

/// The rows [first, first + depth) and columns [column, column + columns) of
/// op(B), packed: for each kDepth rows, panels of panel_columns columns, each
/// row by row. The last panel is as many registers wide as it needs.
template <typename T>
struct Slab {
  Gemm<T> product;
  int64_t first;
  int64_t depth;
  int64_t column;
  int64_t columns;
  int64_t panel_columns;
  int64_t vector_columns;
  T* packed;

  int64_t panels() const { return ceil_div(columns, panel_columns); }
  int64_t columns_of(int64_t panel) const {
    return std::min(panel_columns, columns - panel * panel_columns);
  }
  /// As packed.
  int64_t width_of(int64_t panel) const {
    return ceil_div(columns_of(panel), vector_columns) * vector_columns;
  }
  /// Rows to be taken at a time once `done` of them, a multiple of kDepth, are.
  int64_t depth_after(int64_t done) const {
    return std::min(kDepth, depth - done);
  }
  /// These rows of a panel.
  T* at(int64_t done, int64_t panel) const {
    const int64_t last = panels() - 1;
    const int64_t width = last * panel_columns + width_of(last);
    return packed + done * width + panel * depth_after(done) * panel_columns;
  }
};

/// Packs a panel of kDepth rows of op(B), from row `done` of the slab on,
/// filled up with zeros or copies.
template <typename T, int kBytes>
void pack_panel(const Slab<T>* slab, int64_t done, int64_t panel) {
  constexpr int64_t kAhead = 8;  // rows, which lie far apart
  constexpr int64_t kLine = 64 / sizeof(T);
  const Gemm<T>& p = slab->product;
  const int64_t depth = slab->depth_after(done);
  const int64_t first = slab->first + done;
  const int64_t column = slab->column + panel * slab->panel_columns;
  const int64_t columns = slab->columns_of(panel);
  const int64_t width = slab->width_of(panel);
  T* y = slab->at(done, panel);
  if (p.trans_b) {
    const T* const x = p.b + column * p.ldb + first;
    transpose_rows<T, kBytes>(x, p.ldb, columns, depth, width, T(1), y, width);
    return;
  }
  for (int64_t l = 0; l < depth; ++l, y += width) {
    const T* const row = p.b + (first + l) * p.ldb + column;
    const T* const ahead = row + std::min(kAhead, depth - 1 - l) * p.ldb;
    for (int64_t j = 0; j < columns; j += kLine) {
      __builtin_prefetch(ahead + j);
    }
    std::copy_n(row, columns, y);
    std::fill(y + columns, y + width, T(0));
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

/// sum += a b^T for a column of A and a row of B. Each number of A is fetched
/// for as many registers of B as there are room for: beside another program on
/// the same core it is the instructions that are short.
template <typename T, int kBytes, int kRows, int kVectors>
[[gnu::always_inline]] inline void add_outer_product(
    const T* a,
    const T* b,
    typename simd::Register<T, kBytes>::Value (&sum)[kRows][kVectors]) {
  using Register = simd::Register<T, kBytes>;
  using InMemory = typename Register::InMemory;
  typename Register::Value row[kVectors];
#pragma GCC unroll 16
  for (int j = 0; j < kVectors; ++j) {
    row[j] = *reinterpret_cast<const InMemory*>(b + j * Register::kCount);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    const T factor = a[i * kRowStride];
#pragma GCC unroll 16
    for (int j = 0; j < kVectors; ++j) {
      sum[i][j] += factor * row[j];
    }
  }
}

/// c = alpha a b + bias, or + beta c; kRows by kVectors registers of sums.
template <typename T, int kBytes, int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_tile(const Tile<T>& tile) {
  using Register = simd::Register<T, kBytes>;
  using Vector = typename Register::Value;
  using InMemory = typename Register::InMemory;
  constexpr int64_t kWidth = kVectors * Register::kCount;
  Vector sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kVectors; ++j) {
      sum[i][j] = Vector{};
      __builtin_prefetch(tile.c + i * tile.ldc + j * Register::kCount, 1);
    }
  }
  const T* a = tile.a;
  const T* b = tile.b;
  const T* next = tile.next_b;
  int64_t l = 0;
  for (; l + 4 <= tile.depth; l += 4, a += 4, b += 4 * kWidth) {
    __builtin_prefetch(next, 0, 2);
    next += tile.next_step;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      add_outer_product<T, kBytes>(a + i, b + i * kWidth, sum);
    }
  }
  for (; l < tile.depth; ++l, ++a, b += kWidth) {
    add_outer_product<T, kBytes>(a, b, sum);
  }
  T* c = tile.c;
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i, c += tile.ldc) {
#pragma GCC unroll 16
    for (int64_t j = 0; j < kVectors; ++j) {
      const int64_t column = j * Register::kCount;
      auto* const out = reinterpret_cast<InMemory*>(c + column);
      Vector value = tile.alpha * sum[i][j];
      if (tile.bias != nullptr) {
        value += *reinterpret_cast<const InMemory*>(tile.bias + column);
      } else if (tile.beta != 0) {
        value += tile.beta * *out;
      }
      *out = value;
    }
  }
}

template <typename T, int kBytes, int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_rows(
    int64_t rows, const Tile<T>& tile) {
  if (rows == kRows) {
    multiply_tile<T, kBytes, kRows, kVectors>(tile);
  } else if constexpr (kRows > 1) {
    multiply_rows<T, kBytes, kRows - 1, kVectors>(rows, tile);
  }
}

/// A tile of up to kRows rows and kVectors registers in each.
template <typename T, int kBytes, int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_columns(
    int64_t rows, int64_t vectors, const Tile<T>& tile) {
  if (vectors == kVectors) {
    multiply_rows<T, kBytes, kRows, kVectors>(rows, tile);
  } else if constexpr (kVectors > 1) {
    multiply_columns<T, kBytes, kRows, kVectors - 1>(rows, vectors, tile);
  }
}

/// Stands in for columns of C and of the bias that do not fill a register.
template <typename T, int64_t kRows, int64_t kWidth>
struct Edge {
  alignas(64) T c[kRows * kWidth] = {};
  alignas(64) T bias[kWidth] = {};

  Tile<T> replace(Tile<T> tile, int64_t rows, int64_t columns) {
    for (int64_t i = 0; i < rows && tile.beta != 0; ++i) {
      std::copy_n(tile.c + i * tile.ldc, columns, c + i * kWidth);
    }
    if (tile.bias != nullptr) {
      std::copy_n(tile.bias, columns, bias);
      tile.bias = bias;
    }
    tile.c = c;
    tile.ldc = kWidth;
    return tile;
  }

  void copy_to(const Tile<T>& tile, int64_t rows, int64_t columns) const {
    for (int64_t i = 0; i < rows; ++i) {
      std::copy_n(c + i * kWidth, columns, tile.c + i * tile.ldc);
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
template <typename T, int kBytes>
void multiply_block(const Slab<T>* slab, const Block* block, T* a) {
  constexpr int kRows = kTileRows<kBytes>;
  constexpr int kVectors = kTileVectors<kBytes>;
  constexpr int64_t kCount = simd::Register<T, kBytes>::kCount;
  const Gemm<T>& p = slab->product;
  Edge<T, kRows, kVectors * kCount> edge;
  // Of about as many rows each: one of few rows would wait for its own sums.
  const int64_t strips = ceil_div(block->rows, kRows);
  for (int64_t done = 0; done < slab->depth; done += kDepth) {
    const int64_t depth = slab->depth_after(done);
    const bool is_first = slab->first + done == 0;
    pack_rows<T, kBytes>(
        p, block->row, block->rows, slab->first + done, depth, a);
    for (int64_t j = block->panel; j < block->panel_end; ++j) {
      const int64_t column = slab->column + j * slab->panel_columns;
      const int64_t columns = slab->columns_of(j);
      const int64_t width = slab->width_of(j);
      const T* const b = slab->at(done, j);
      const T* const next = j + 1 < block->panel_end ? b + depth * width : b;
      const int64_t next_width =
          slab->width_of(std::min(j + 1, block->panel_end - 1));
      for (int64_t i = 0, row = 0; i < strips; ++i) {
        const int64_t rows = (block->rows - row) / (strips - i);
        const Tile<T> tile{
            .depth = depth,
            .a = a + row * kRowStride,
            .b = b,
            .next_b = next + i * depth * next_width / strips,
            .next_step = 4 * next_width / strips,
            .c = p.c + (block->row + row) * p.ldc + column,
            .ldc = p.ldc,
            .alpha = p.alpha,
            .beta = is_first ? p.beta : T(1),
            .bias = is_first && p.bias ? p.bias + column : nullptr};
        const bool whole = columns == width;
        multiply_columns<T, kBytes, kRows, kVectors>(
            rows,
            width / kCount,
            whole ? tile : edge.replace(tile, rows, columns));
        if (!whole) {
          edge.copy_to(tile, rows, columns);
        }
        row += rows;
      }
    }
  }
}

template <typename T>
void pack(const Slab<T>& slab) {
  const int64_t panels = slab.panels();
  parallel_for(
      panels * ceil_div(slab.depth, kDepth),
      grain_for(kDepth * slab.panel_columns / 4),
      [&](int64_t i, int64_t end) {
        for (; i < end; ++i) {
          simd::
              call_own<pack_panel<T, 16>, pack_panel<T, 32>, pack_panel<T, 64>>(
                  &slab, i / panels * kDepth, i % panels);
        }
      });
}

/// Cuts C by size alone, down rather than across: what is across packs its rows
/// again.
template <typename T>
void multiply(const Slab<T>& slab) {
  constexpr int64_t kFewRows = 12;  // would hardly repay fetching B
  const int64_t m = slab.product.m;
  int64_t down = ceil_div(m, kBlockRows);
  if (down > kShares / 2) {
    down = ceil_div(down, kShares) * kShares;
  }
  const int64_t across = std::min(slab.panels(), ceil_div(kShares, down));
  if (down * across < kShares) {
    down = std::min(ceil_div(kShares, across), ceil_div(m, kFewRows));
  }
  parallel_for(down * across, 1, [&](int64_t i, int64_t end) {
    const Buffer<T> a(ceil_div(m, down) * kRowStride);
    for (; i < end; ++i) {
      const int64_t y = i / across;
      const int64_t x = i % across;
      const int64_t row = m * y / down;
      const Block block{
          .row = row,
          .rows = m * (y + 1) / down - row,
          .panel = slab.panels() * x / across,
          .panel_end = slab.panels() * (x + 1) / across};
      simd::call_own<
          multiply_block<T, 16>,
          multiply_block<T, 32>,
          multiply_block<T, 64>>(&slab, &block, a.data());
    }
  });
}

// Columns of B in a register, and in a panel, at the level in use.
struct Widths {
  int64_t vector;
  int64_t panel;
};

template <typename T, int kBytes>
constexpr Widths widths_of() {
  constexpr int64_t kCount = simd::Register<T, kBytes>::kCount;
  return {kCount, kTileVectors<kBytes> * kCount};
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
  const auto [vector, panel] =
      simd::call_own<widths_of<T, 16>, widths_of<T, 32>, widths_of<T, 64>>();
  const int64_t columns =
      std::min(ceil_div(p.n, vector) * vector, kSlabColumns / panel * panel);
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
          .panel_columns = panel,
          .vector_columns = vector,
          .packed = packed.data()};
      pack(slab);
      multiply(slab);
    }
  }
}

template bool is_large(const Gemm<float>&);
template bool is_large(const Gemm<double>&);
template void multiply_packed(const Gemm<float>&);
template void multiply_packed(const Gemm<double>&);

}  // namespace heed
