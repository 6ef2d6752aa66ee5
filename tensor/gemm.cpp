#include "tensor/gemm.h"

#include <algorithm>
#include <limits>

#include "tensor/blas.h"
#include "tensor/blas_info.h"
#include "tensor/ceil_div.h"
#include "tensor/error.h"
#include "tensor/packed_product.h"
#include "tensor/parallel.h"
#include "tensor/thin_product.h"

namespace heed {
namespace {

// Each tile packs its part of A and of B for itself, so the fewer the faster:
// four already keep two to four cores busy, and only what takes long (about two
// milliseconds) and is large is cut further.
constexpr int64_t kTilesWanted = 4;
constexpr double kLongTile = 1 << 28;
constexpr int64_t kLargeTile = 1024 * 512;  // elements of C
// About 10 us of work: below it a piece is not worth sharing out.
constexpr double kShortTile = 1 << 20;

/// What a product costs, in multiply-adds: a thin one waits for its memory.
double work_of(int64_t m, int64_t n, int64_t k) {
  constexpr double kWorkPerElement = 16;
  const double elements = 1.0 * m * k + 1.0 * k * n + 1.0 * m * n;
  return std::max(1.0 * m * n * k, kWorkPerElement * elements);
}

struct Tiles {
  int64_t rows, cols;    // of a whole tile
  int64_t down, across;  // number of tiles
};

/// Tiles of about the same size, a multiple of the kernels' own blocks.
int64_t even_out(int64_t n, int64_t tile) {
  constexpr int64_t kBlock = 16;
  const int64_t even = ceil_div(n, ceil_div(n, tile));
  return ceil_div(even, kBlock) * kBlock;
}

Tiles choose_tiles(int64_t m, int64_t n, int64_t k, int64_t batch) {
  int64_t rows = m;
  int64_t cols = n;
  const auto is_too_large = [&] {
    const double work = work_of(rows, cols, k);
    const double count =
        static_cast<double>(batch) * ceil_div(m, rows) * ceil_div(n, cols);
    return (count < kTilesWanted && work >= kShortTile) ||
           (rows * cols > kLargeTile && work > kLongTile);
  };
  while (is_too_large()) {
    if (cols >= rows && cols > 32) {
      cols = ceil_div(cols, 2);
    } else if (rows > 64) {
      rows = ceil_div(rows, 2);
    } else if (cols > 32) {
      cols = ceil_div(cols, 2);
    } else {
      break;
    }
  }
  rows = even_out(m, rows);
  cols = even_out(n, cols);
  return {rows, cols, ceil_div(m, rows), ceil_div(n, cols)};
}

void check(
    const char* name, bool trans, int64_t rows, int64_t cols, int64_t ld) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  const int64_t row_length = trans ? rows : cols;
  if (rows < 0 || cols < 0 || rows > kMax || cols > kMax) {
    fail(
        "gemm",
        "sizes must be in [0, ",
        kMax,
        "], got ",
        name,
        " [",
        rows,
        ", ",
        cols,
        "]");
  }
  if (ld < row_length || ld > kMax) {
    fail(
        "gemm",
        "the leading dimension of ",
        name,
        " must be in [",
        row_length,
        ", ",
        kMax,
        "], got ",
        ld);
  }
}

/// C = beta C, for products that are 0.
template <typename T>
void scale(const Gemm<T>& p) {
  for (int64_t i = 0; i < p.m; ++i) {
    T* row = p.c + i * p.ldc;
    for (int64_t j = 0; j < p.n; ++j) {
      row[j] = p.beta == 0 ? T(0) : p.beta * row[j];
    }
  }
}

/// Writes the bias to C: what is left is to add the product.
template <typename T>
void start_with_bias(Gemm<T>& p) {
  if (p.bias == nullptr) {
    return;
  }
  for (int64_t i = 0; i < p.m; ++i) {
    std::copy_n(p.bias, p.n, p.c + i * p.ldc);
  }
  p.bias = nullptr;
  p.beta = 1;
}

template <typename T>
void compute(Gemm<T> tile) {
  start_with_bias(tile);  // now, so that the product finds C in a cache
  if (tile.k == 0 || tile.alpha == 0) {
    scale(tile);
  } else {
    call_blas(tile);
  }
}

template <typename T>
void multiply(const Gemm<T>& p, const GemmBatch& batch) {
  check("A", p.trans_a, p.m, p.k, p.lda);
  check("B", p.trans_b, p.k, p.n, p.ldb);
  check("C", false, p.m, p.n, p.ldc);
  if (batch.count < 0) {
    fail("gemm", "batch must be >= 0, got ", batch.count);
  }
  if (p.m == 0 || p.n == 0 || batch.count == 0) {
    return;
  }
  if (batch.count == 1 && is_thin(p)) {
    Gemm<T> thin = p;
    start_with_bias(thin);
    multiply_thin(thin);
    return;
  }
  if (batch.count == 1 && p.alpha != 0 && is_large(p)) {
    multiply_packed(p);
    return;
  }
  blas_info();
  const double work = work_of(p.m, p.n, p.k);
  if (batch.count == 1 && work < kShortTile) {
    const SingleThreadedBlas single;
    compute(p);
    return;
  }
  const Tiles tiles = choose_tiles(p.m, p.n, p.k, batch.count);
  const int64_t each = tiles.down * tiles.across;
  const auto grain =
      static_cast<int64_t>(std::max(1.0, kShortTile * each / work));
  parallel_for(batch.count * each, grain, [&](int64_t i, int64_t end) {
    const SingleThreadedBlas single;
    for (; i < end; ++i) {
      const int64_t row = i % each / tiles.across * tiles.rows;
      const int64_t col = i % each % tiles.across * tiles.cols;
      Gemm<T> tile = p.tile(
          row,
          std::min(tiles.rows, p.m - row),
          col,
          std::min(tiles.cols, p.n - col));
      tile.a += i / each * batch.stride_a;
      tile.b += i / each * batch.stride_b;
      tile.c += i / each * batch.stride_c;
      compute(tile);
    }
  });
}

}  // namespace

void gemm(const Gemm<float>& product, const GemmBatch& batch) {
  multiply(product, batch);
}

void gemm(const Gemm<double>& product, const GemmBatch& batch) {
  multiply(product, batch);
}

}  // namespace heed
