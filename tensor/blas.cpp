#include "tensor/blas.h"

#include <cblas.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <vector>

#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tensor/simd.h"

// What only OpenBLAS has. Another BLAS links too and leaves these null.
extern "C" {
[[gnu::weak]] char* openblas_get_config();
[[gnu::weak]] char* openblas_get_corename();
[[gnu::weak]] int openblas_get_parallel();
[[gnu::weak]] void openblas_set_num_threads(int);
[[gnu::weak]] void gotoblas_dynamic_init();
[[gnu::weak]] void gotoblas_dynamic_quit();
[[gnu::weak]] extern char gotoblas_HASWELL[];
[[gnu::weak]] extern char gotoblas_SKYLAKEX[];
extern char** environ;
}

namespace heed {
namespace {

// --- threads -----------------------------------------------------------------

/// The OpenMP runtime that OpenBLAS asks how many threads to use; found at run
/// time, since heed itself calls none.
struct OpenMp {
  int (*get_max_threads)() = nullptr;
  void (*set_num_threads)(int) = nullptr;

  static const OpenMp& runtime() {
    static const OpenMp found = [] {
      OpenMp openmp;
      openmp.get_max_threads = reinterpret_cast<int (*)()>(
          dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
      openmp.set_num_threads = reinterpret_cast<void (*)(int)>(
          dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
      return openmp;
    }();
    return found;
  }
};

/// Makes BLAS calls of this thread single-threaded while it lives. The OpenMP
/// build of OpenBLAS goes by a setting of the calling thread; it costs a few
/// nanoseconds and is put back for the user's own OpenMP loops.
class SingleThreadedBlas {
 public:
  SingleThreadedBlas() {
    const OpenMp& openmp = OpenMp::runtime();
    if (openmp.get_max_threads && openmp.set_num_threads) {
      before_ = openmp.get_max_threads();
      if (before_ != 1) {
        openmp.set_num_threads(1);
      }
    }
  }
  ~SingleThreadedBlas() {
    if (before_ != 1) {
      OpenMp::runtime().set_num_threads(before_);
    }
  }
  SingleThreadedBlas(const SingleThreadedBlas&) = delete;
  SingleThreadedBlas& operator=(const SingleThreadedBlas&) = delete;

 private:
  int before_ = 1;
};

// --- one product -------------------------------------------------------------

template <typename T>
struct Product {
  bool trans_a, trans_b;
  int64_t m, n, k;
  T alpha;
  const T* a;
  int64_t lda;
  const T* b;
  int64_t ldb;
  T beta;
  T* c;
  int64_t ldc;

  /// The rows [row, row + rows) and columns [col, col + cols) of C.
  Product tile(int64_t row, int64_t rows, int64_t col, int64_t cols) const {
    Product part = *this;
    part.m = rows;
    part.n = cols;
    part.a += trans_a ? row : row * lda;
    part.b += trans_b ? col * ldb : col;
    part.c += row * ldc + col;
    return part;
  }
};

CBLAS_TRANSPOSE flag(bool trans) { return trans ? CblasTrans : CblasNoTrans; }

void call_blas(const Product<float>& p) {
  cblas_sgemm(
      CblasRowMajor,
      flag(p.trans_a),
      flag(p.trans_b),
      static_cast<int>(p.m),
      static_cast<int>(p.n),
      static_cast<int>(p.k),
      p.alpha,
      p.a,
      static_cast<int>(p.lda),
      p.b,
      static_cast<int>(p.ldb),
      p.beta,
      p.c,
      static_cast<int>(p.ldc));
}

void call_blas(const Product<double>& p) {
  cblas_dgemm(
      CblasRowMajor,
      flag(p.trans_a),
      flag(p.trans_b),
      static_cast<int>(p.m),
      static_cast<int>(p.n),
      static_cast<int>(p.k),
      p.alpha,
      p.a,
      static_cast<int>(p.lda),
      p.b,
      static_cast<int>(p.ldb),
      p.beta,
      p.c,
      static_cast<int>(p.ldc));
}

// --- the right kernels -------------------------------------------------------

/// A kernel set that is not known here is newer, so taken to be the best.
simd::Level kernel_level(std::string_view core) {
  for (const std::string_view old :
       {"Katmai",   "Coppermine",   "Northwood",  "Banias",     "Prescott",
        "Core2",    "Penryn",       "Dunnington", "Nehalem",    "Athlon",
        "Opteron",  "Opteron_SSE3", "Barcelona",  "Bobcat",     "Atom",
        "Nano",     "Sandybridge",  "Bulldozer",  "Piledriver", "Steamroller",
        "Excavator"}) {
    if (core == old) {
      return simd::Level::baseline;
    }
  }
  return core == "Haswell" || core == "Zen" ? simd::Level::avx2
                                            : simd::Level::avx512;
}

/// A product with its right result. Of small whole numbers, so that all sums
/// are exact: every right kernel, in whatever order it adds, gives the very
/// same.
struct Trial {
  int64_t m, n, k;
  std::vector<float> a, b, c, product;  // [m, k], [k, n], [m, n], [m, n]

  Trial(int64_t m, int64_t n, int64_t k)
      : m(m),
        n(n),
        k(k),
        a(whole_numbers(m * k, 1)),
        b(whole_numbers(k * n, 2)),
        c(whole_numbers(m * n, 3)),
        product(m * n) {
    for (int64_t i = 0; i < m; ++i) {
      float* row = product.data() + i * n;
      for (int64_t p = 0; p < k; ++p) {
        const float x = a[i * k + p];
        const float* y = b.data() + p * n;
        for (int64_t j = 0; j < n; ++j) {
          row[j] += x * y[j];
        }
      }
    }
  }

  static std::vector<float> whole_numbers(int64_t count, uint32_t seed) {
    std::vector<float> values(count);
    for (float& value : values) {
      seed = seed * 1664525u + 1013904223u;
      value = static_cast<float>(seed >> 28) - 8;
    }
    return values;
  }
};

template <typename T>
std::vector<T> transposed(const std::vector<T>& x, int64_t rows, int64_t cols) {
  std::vector<T> y(x.size());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) {
      y[j * rows + i] = x[i * cols + j];
    }
  }
  return y;
}

template <typename T>
bool multiplies_right(const Trial& trial) {
  const auto& [m, n, k, a_, b_, c, product] = trial;
  const std::vector<T> a(a_.begin(), a_.end()), a_t = transposed(a, m, k);
  const std::vector<T> b(b_.begin(), b_.end()), b_t = transposed(b, k, n);
  std::vector<T> got(m * n);
  for (const bool trans_a : {false, true}) {
    for (const bool trans_b : {false, true}) {
      // beta = 0 must overwrite NaN.
      const T beta = trans_a == trans_b ? T(0) : T(0.5);
      got.assign(c.begin(), c.end());
      if (beta == 0) {
        got.assign(m * n, std::numeric_limits<T>::quiet_NaN());
      }
      call_blas(Product<T>{
          trans_a,
          trans_b,
          m,
          n,
          k,
          T(2),
          trans_a ? a_t.data() : a.data(),
          trans_a ? m : k,
          trans_b ? b_t.data() : b.data(),
          trans_b ? k : n,
          beta,
          got.data(),
          n});
      for (int64_t i = 0; i < m * n; ++i) {
        if (got[i] != 2 * product[i] + beta * c[i]) {
          return false;
        }
      }
    }
  }
  return true;
}

/// Tries sizes that leave remainders in every blocking, for OpenBLAS's kernels
/// for small products and (m n k > 10^6) those for large ones. Takes a few
/// milliseconds at most.
bool blas_is_right() {
  const SingleThreadedBlas single;
  for (const Trial& trial :
       {Trial(5, 7, 3), Trial(33, 17, 40), Trial(110, 101, 91)}) {
    if (!multiplies_right<float>(trial) || !multiplies_right<double>(trial)) {
      return false;
    }
  }
  return true;
}

std::string core_name() {
  return openblas_get_corename ? openblas_get_corename() : "";
}

/// Has OpenBLAS choose its kernels anew, by name. False if it cannot.
///
/// It goes by an environment variable, which is shown to it in a new array:
/// setenv could free the one that another thread is reading.
bool choose_core(const std::string& core) {
#if defined(__linux__) && defined(__x86_64__)
  const bool has_table = (core == "SkylakeX" && gotoblas_SKYLAKEX) ||
                         (core == "Haswell" && gotoblas_HASWELL);
  if (!has_table || !gotoblas_dynamic_init || !gotoblas_dynamic_quit) {
    return false;
  }
  // Kept for good, for readers that still hold it.
  struct Environment {
    std::string variable;
    std::vector<char*> pointers;
  };
  static std::vector<Environment*>& kept = *new std::vector<Environment*>;
  kept.push_back(new Environment{"OPENBLAS_CORETYPE=" + core, {}});
  Environment& shown = *kept.back();
  shown.pointers.push_back(shown.variable.data());
  char** const before = environ;
  for (char** variable = before; variable && *variable; ++variable) {
    shown.pointers.push_back(*variable);
  }
  shown.pointers.push_back(nullptr);

  environ = shown.pointers.data();
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  environ = before;
  return core_name() == core;
#else
  static_cast<void>(core);
  return false;
#endif
}

void warn(const BlasInfo& info, const char* what) {
  std::fprintf(
      stderr,
      "heed: %s runs its \"%s\" kernels here, which %s; set OPENBLAS_CORETYPE "
      "(Haswell, SkylakeX) or install a newer OpenBLAS\n",
      info.library.c_str(),
      info.core.c_str(),
      what);
}

BlasInfo prepare() {
  BlasInfo info;
  info.library = openblas_get_config ? openblas_get_config() : "unknown BLAS";
  // "OpenBLAS 0.3.21 DYNAMIC_ARCH ...": name and version will do.
  if (const size_t space = info.library.find(' ');
      openblas_get_config && space != std::string::npos) {
    info.library.resize(info.library.find(' ', space + 1));
  }
  if (openblas_get_parallel && openblas_get_parallel() == 1) {
    // Its own threads; OpenMP's are asked per call.
    openblas_set_num_threads(1);
  }
  info.core = info.found_core = core_name();
  const char* choice = std::getenv("OPENBLAS_CORETYPE");
  info.user_choice = !info.core.empty() && choice && *choice;

  const simd::Level level = simd::processor_level();
  const auto is_slow = [&] {
    return !info.core.empty() && kernel_level(info.core) < level;
  };
  if (!is_slow() || info.user_choice) {
    info.correct = blas_is_right();
  }
  if (!info.user_choice && !info.core.empty()) {
    std::vector<std::string> better;
    if (level >= simd::Level::avx512) {
      better.push_back("SkylakeX");
    }
    if (level >= simd::Level::avx2) {
      better.push_back("Haswell");
    }
    for (const std::string& core : better) {
      if (!info.correct && core != info.found_core && choose_core(core)) {
        info.core = core;
        info.correct = info.repaired = blas_is_right();
      }
    }
    if (!info.correct) {
      if (core_name() != info.found_core && gotoblas_dynamic_init) {
        gotoblas_dynamic_quit();
        gotoblas_dynamic_init();
      }
      info.core = core_name();
      info.correct = blas_is_right();
    }
  }
  info.slow = is_slow();
  if (!info.correct) {
    warn(info, "multiply wrong");
  } else if (info.slow && !info.repaired && !info.user_choice) {
    warn(info, "are slow on this processor");
  }
  return info;
}

// --- tiles -------------------------------------------------------------------

constexpr int64_t kLargestTile = 512;
constexpr int64_t kTilesWanted = 16;
// About 10 us of work: below it a piece is not worth sharing out.
constexpr double kFlopsPerPiece = 1 << 20;

struct Tiles {
  int64_t rows, cols;    // of a whole tile
  int64_t down, across;  // number of tiles
};

int64_t ceil_div(int64_t n, int64_t d) { return (n + d - 1) / d; }

/// Tiles of about the same size, a multiple of the kernels' own blocks.
int64_t even_out(int64_t n, int64_t tile) {
  constexpr int64_t kBlock = 16;
  const int64_t even = ceil_div(n, ceil_div(n, tile));
  return ceil_div(even, kBlock) * kBlock;
}

/// The largest tiles that still leave enough of them to keep the threads busy.
/// Each tile packs its part of A and of B for itself, so small ones waste time:
/// measured, 256 x 128 reaches 95 % of the speed of 512 x 512, 64 x 64 75 %.
Tiles choose_tiles(int64_t m, int64_t n, int64_t k, int64_t batch) {
  int64_t rows = std::min(m, kLargestTile);
  int64_t cols = std::min(n, kLargestTile);
  const auto count = [&] {
    return static_cast<double>(batch) * ceil_div(m, rows) * ceil_div(n, cols);
  };
  while (count() < kTilesWanted && 1.0 * rows * cols * k >= kFlopsPerPiece) {
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

/// C = beta C, for products with an empty sum.
template <typename T>
void scale(const Product<T>& p) {
  for (int64_t i = 0; i < p.m; ++i) {
    T* row = p.c + i * p.ldc;
    for (int64_t j = 0; j < p.n; ++j) {
      row[j] = p.beta == 0 ? T(0) : p.beta * row[j];
    }
  }
}

template <typename T>
void multiply(
    const Product<T>& p,
    int64_t batch,
    int64_t stride_a,
    int64_t stride_b,
    int64_t stride_c) {
  check("A", p.trans_a, p.m, p.k, p.lda);
  check("B", p.trans_b, p.k, p.n, p.ldb);
  check("C", false, p.m, p.n, p.ldc);
  if (batch < 0) {
    fail("gemm", "batch must be >= 0, got ", batch);
  }
  if (p.m == 0 || p.n == 0 || batch == 0) {
    return;
  }
  blas_info();
  const Tiles tiles = choose_tiles(p.m, p.n, p.k, batch);
  const int64_t each = tiles.down * tiles.across;
  const double tile_flops = 2.0 * p.m * p.n * std::max<int64_t>(p.k, 1) / each;
  const auto grain =
      static_cast<int64_t>(std::max(1.0, kFlopsPerPiece / tile_flops));
  parallel_for(batch * each, grain, [&](int64_t begin, int64_t end) {
    const SingleThreadedBlas single;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i % each / tiles.across * tiles.rows;
      const int64_t col = i % each % tiles.across * tiles.cols;
      Product<T> part = p.tile(
          row,
          std::min(tiles.rows, p.m - row),
          col,
          std::min(tiles.cols, p.n - col));
      part.a += i / each * stride_a;
      part.b += i / each * stride_b;
      part.c += i / each * stride_c;
      if (p.k == 0) {
        scale(part);
      } else {
        call_blas(part);
      }
    }
  });
}

}  // namespace

const BlasInfo& blas_info() {
  static const BlasInfo info = prepare();
  return info;
}

void gemm(
    bool trans_a,
    bool trans_b,
    int64_t m,
    int64_t n,
    int64_t k,
    float alpha,
    const float* a,
    int64_t lda,
    const float* b,
    int64_t ldb,
    float beta,
    float* c,
    int64_t ldc) {
  multiply<float>(
      {trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc},
      1,
      0,
      0,
      0);
}

void gemm(
    bool trans_a,
    bool trans_b,
    int64_t m,
    int64_t n,
    int64_t k,
    double alpha,
    const double* a,
    int64_t lda,
    const double* b,
    int64_t ldb,
    double beta,
    double* c,
    int64_t ldc) {
  multiply<double>(
      {trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc},
      1,
      0,
      0,
      0);
}

void gemm_batched(
    bool trans_a,
    bool trans_b,
    int64_t m,
    int64_t n,
    int64_t k,
    float alpha,
    const float* a,
    int64_t lda,
    const float* b,
    int64_t ldb,
    float beta,
    float* c,
    int64_t ldc,
    int64_t batch,
    int64_t stride_a,
    int64_t stride_b,
    int64_t stride_c) {
  multiply<float>(
      {trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc},
      batch,
      stride_a,
      stride_b,
      stride_c);
}

void gemm_batched(
    bool trans_a,
    bool trans_b,
    int64_t m,
    int64_t n,
    int64_t k,
    double alpha,
    const double* a,
    int64_t lda,
    const double* b,
    int64_t ldb,
    double beta,
    double* c,
    int64_t ldc,
    int64_t batch,
    int64_t stride_a,
    int64_t stride_b,
    int64_t stride_c) {
  multiply<double>(
      {trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc},
      batch,
      stride_a,
      stride_b,
      stride_c);
}

}  // namespace heed
