#include "tensor/blas_info.h"

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <vector>

#include "tensor/blas.h"
#include "tensor/blas_library.h"
#include "tensor/simd.h"

extern "C" char** environ;

namespace heed {
namespace {

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
  return blas_library().get_corename ? blas_library().get_corename() : "";
}

/// Has OpenBLAS choose its kernels anew, by name. False if it cannot.
///
/// It goes by an environment variable, which is shown to it in a new array:
/// setenv could free the one that another thread is reading.
bool choose_core(const std::string& core) {
#if defined(__linux__) && defined(__x86_64__)
  const bool has_table = (core == "SkylakeX" && blas_library().skylakex) ||
                         (core == "Haswell" && blas_library().haswell);
  if (!has_table || !blas_library().dynamic_init ||
      !blas_library().dynamic_quit) {
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
  blas_library().dynamic_quit();
  blas_library().dynamic_init();
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

/// "OpenBLAS 0.3.21 DYNAMIC_ARCH ..." is cut to name and version.
std::string library_name() {
  if (!blas_library().get_config) {
    return "unknown BLAS";
  }
  std::string name = blas_library().get_config();
  if (const size_t space = name.find(' '); space != std::string::npos) {
    name.resize(name.find(' ', space + 1));
  }
  return name;
}

/// Takes the best kernels for the processor that multiply right; those that the
/// library had found if none do.
void repair(BlasInfo& info, simd::Level processor) {
  std::vector<std::string> better;
  if (processor >= simd::Level::avx512) {
    better.push_back("SkylakeX");
  }
  if (processor >= simd::Level::avx2) {
    better.push_back("Haswell");
  }
  for (const std::string& core : better) {
    if (core != info.found_core && choose_core(core)) {
      info.core = core;
      info.correct = info.repaired = blas_is_right();
    }
    if (info.correct) {
      return;
    }
  }
  if (core_name() != info.found_core && blas_library().dynamic_init) {
    blas_library().dynamic_quit();
    blas_library().dynamic_init();
  }
  info.core = core_name();
  info.correct = blas_is_right();
}

BlasInfo prepare() {
  if (blas_library().get_parallel && blas_library().get_parallel() == 1) {
    // Its own threads; OpenMP's are asked per call.
    blas_library().set_num_threads(1);
  }
  BlasInfo info;
  info.library = library_name();
  info.core = info.found_core = core_name();
  const char* choice = std::getenv("OPENBLAS_CORETYPE");
  info.user_choice = !info.core.empty() && choice && *choice;

  const simd::Level processor = simd::processor_level();
  const auto is_slow = [&] {
    return !info.core.empty() && kernel_level(info.core) < processor;
  };
  if (!is_slow() || info.user_choice) {
    info.correct = blas_is_right();
  }
  if (!info.correct && !info.user_choice && !info.core.empty()) {
    repair(info, processor);
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

}  // namespace heed
