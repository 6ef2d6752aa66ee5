#include "tensor/blas.h"

#include <cblas.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tensor/simd.h"

// What only OpenBLAS has. Another BLAS will do too and leaves these null.
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

// --- the library -------------------------------------------------------------

/// What is called of the BLAS library and of the OpenMP runtime that it asks
/// how many threads to use; heed itself uses none.
struct Blas {
  decltype(&cblas_sgemm) sgemm;
  decltype(&cblas_dgemm) dgemm;
  decltype(&cblas_sgemv) sgemv;
  decltype(&cblas_dgemv) dgemv;

  // Null in a library that is not OpenBLAS.
  decltype(&openblas_get_config) get_config;
  decltype(&openblas_get_corename) get_corename;
  decltype(&openblas_get_parallel) get_parallel;
  decltype(&openblas_set_num_threads) set_num_threads;
  decltype(&gotoblas_dynamic_init) dynamic_init;
  decltype(&gotoblas_dynamic_quit) dynamic_quit;
  decltype(&gotoblas_HASWELL) haswell;
  decltype(&gotoblas_SKYLAKEX) skylakex;

  // Null without OpenMP.
  int (*omp_get_max_threads)();
  void (*omp_set_num_threads)(int);
};

#ifdef HEED_BLAS_SONAME

/// Loads the library that heed was built with; if that is gone, the one of its
/// name that the system has. One that the program has loaded is taken first:
/// two of them would not share their choice of kernels.
void* open_library() {
  constexpr int kFlags = RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE;
  void* library = dlopen(HEED_BLAS_SONAME, kFlags | RTLD_NOLOAD);
  for (const char* name : {HEED_BLAS_PATH, HEED_BLAS_SONAME}) {
    if (!library) {
      library = dlopen(name, kFlags);
    }
  }
  if (!library) {
    fail<std::runtime_error>(
        "matmul",
        "OpenBLAS must be installed (Debian, Ubuntu: libopenblas0-openmp; "
        "Homebrew: openblas), got ",
        dlerror());
  }
  return library;
}

#define HEED_BLAS_SYMBOL(name) \
  reinterpret_cast<decltype(&name)>(dlsym(library, #name))

#else

void* open_library() { return RTLD_DEFAULT; }

#define HEED_BLAS_SYMBOL(name) (&name)

#endif

Blas open_blas() {
  void* const library = open_library();
  // The library binds to the program's OpenMP runtime, if there is one, rather
  // than to its own.
  void* const program = dlopen(nullptr, RTLD_LAZY);
  const auto find_openmp = [&](const char* name) {
    void* const found = dlsym(program, name);
    return found ? found : dlsym(library, name);
  };
  const Blas blas = {
      HEED_BLAS_SYMBOL(cblas_sgemm),
      HEED_BLAS_SYMBOL(cblas_dgemm),
      HEED_BLAS_SYMBOL(cblas_sgemv),
      HEED_BLAS_SYMBOL(cblas_dgemv),
      HEED_BLAS_SYMBOL(openblas_get_config),
      HEED_BLAS_SYMBOL(openblas_get_corename),
      HEED_BLAS_SYMBOL(openblas_get_parallel),
      HEED_BLAS_SYMBOL(openblas_set_num_threads),
      HEED_BLAS_SYMBOL(gotoblas_dynamic_init),
      HEED_BLAS_SYMBOL(gotoblas_dynamic_quit),
      HEED_BLAS_SYMBOL(gotoblas_HASWELL),
      HEED_BLAS_SYMBOL(gotoblas_SKYLAKEX),
      reinterpret_cast<int (*)()>(find_openmp("omp_get_max_threads")),
      reinterpret_cast<void (*)(int)>(find_openmp("omp_set_num_threads"))};
#ifdef HEED_BLAS_SONAME
  if (!blas.sgemm || !blas.dgemm || !blas.sgemv || !blas.dgemv) {
    fail<std::runtime_error>(
        "matmul", HEED_BLAS_SONAME " must have the CBLAS functions, got none");
  }
#endif
  return blas;
}

/// Opened at the first call, which throws std::runtime_error without a library;
/// so does the next, unless there is one by then.
const Blas& blas() {
  static const Blas opened = open_blas();
  return opened;
}

// --- one product -------------------------------------------------------------

CBLAS_TRANSPOSE flag(bool trans) { return trans ? CblasTrans : CblasNoTrans; }

int to_int(int64_t size) { return static_cast<int>(size); }

template <typename T, typename F>
void call_gemm(const F& cblas_gemm, const Gemm<T>& p) {
  cblas_gemm(
      CblasRowMajor,
      flag(p.trans_a),
      flag(p.trans_b),
      to_int(p.m),
      to_int(p.n),
      to_int(p.k),
      p.alpha,
      p.a,
      to_int(p.lda),
      p.b,
      to_int(p.ldb),
      p.beta,
      p.c,
      to_int(p.ldc));
}

/// y = alpha op(matrix) x + beta y, op(matrix) [rows, cols].
template <typename T, typename F>
void call_gemv(
    const F& cblas_gemv,
    bool trans,
    int64_t rows,
    int64_t cols,
    T alpha,
    const T* matrix,
    int64_t ld,
    const T* x,
    int64_t step_x,
    T beta,
    T* y,
    int64_t step_y) {
  if (beta == 0) {
    for (int64_t i = 0; i < rows; ++i) {
      y[i * step_y] = 0;  // some kernels would keep a NaN
    }
    beta = 1;
  }
  cblas_gemv(
      CblasRowMajor,
      flag(trans),
      to_int(trans ? cols : rows),
      to_int(trans ? rows : cols),
      alpha,
      matrix,
      to_int(ld),
      x,
      to_int(step_x),
      beta,
      y,
      to_int(step_y));
}

/// A single row or column does not pay for the packing of a matrix product.
template <typename T, typename Gemv, typename F>
void call(const Gemv& gemv, const F& gemm, const Gemm<T>& p) {
  if (p.m == 1) {  // c = op(B)^T a
    call_gemv(
        gemv,
        !p.trans_b,
        p.n,
        p.k,
        p.alpha,
        p.b,
        p.ldb,
        p.a,
        p.trans_a ? p.lda : 1,
        p.beta,
        p.c,
        1);
  } else if (p.n == 1) {  // c = op(A) b
    call_gemv(
        gemv,
        p.trans_a,
        p.m,
        p.k,
        p.alpha,
        p.a,
        p.lda,
        p.b,
        p.trans_b ? 1 : p.ldb,
        p.beta,
        p.c,
        p.ldc);
  } else {
    call_gemm(gemm, p);
  }
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
      call_blas(Gemm<T>{
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
       {Trial(1, 37, 40),
        Trial(5, 7, 3),
        Trial(33, 17, 40),
        Trial(110, 101, 91)}) {
    if (!multiplies_right<float>(trial) || !multiplies_right<double>(trial)) {
      return false;
    }
  }
  return true;
}

std::string core_name() {
  return blas().get_corename ? blas().get_corename() : "";
}

/// Has OpenBLAS choose its kernels anew, by name. False if it cannot.
///
/// It goes by an environment variable, which is shown to it in a new array:
/// setenv could free the one that another thread is reading.
bool choose_core(const std::string& core) {
#if defined(__linux__) && defined(__x86_64__)
  const bool has_table = (core == "SkylakeX" && blas().skylakex) ||
                         (core == "Haswell" && blas().haswell);
  if (!has_table || !blas().dynamic_init || !blas().dynamic_quit) {
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
  blas().dynamic_quit();
  blas().dynamic_init();
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
  info.library = blas().get_config ? blas().get_config() : "unknown BLAS";
  // "OpenBLAS 0.3.21 DYNAMIC_ARCH ...": name and version will do.
  if (const size_t space = info.library.find(' ');
      blas().get_config && space != std::string::npos) {
    info.library.resize(info.library.find(' ', space + 1));
  }
  if (blas().get_parallel && blas().get_parallel() == 1) {
    // Its own threads; OpenMP's are asked per call.
    blas().set_num_threads(1);
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
      if (core_name() != info.found_core && blas().dynamic_init) {
        blas().dynamic_quit();
        blas().dynamic_init();
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

}  // namespace

const BlasInfo& blas_info() {
  static const BlasInfo info = prepare();
  return info;
}

SingleThreadedBlas::SingleThreadedBlas() {
  if (blas().omp_get_max_threads && blas().omp_set_num_threads) {
    before_ = blas().omp_get_max_threads();
    if (before_ != 1) {
      blas().omp_set_num_threads(1);
    }
  }
}

SingleThreadedBlas::~SingleThreadedBlas() {
  if (before_ != 1) {
    blas().omp_set_num_threads(before_);
  }
}

void call_blas(const Gemm<float>& product) {
  call(blas().sgemv, blas().sgemm, product);
}

void call_blas(const Gemm<double>& product) {
  call(blas().dgemv, blas().dgemm, product);
}

}  // namespace heed
