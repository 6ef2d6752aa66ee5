#include "tensor/config.h"

#include <sstream>

#include "tensor/blas_info.h"
#include "tensor/cores.h"
#include "tensor/parallel.h"
#include "tensor/simd.h"

namespace heed {
namespace {

constexpr const char* kCompiler =
#if defined(__clang__)
    "clang " __clang_version__;
#else
    "g++ " __VERSION__;
#endif

}  // namespace

std::string config() {
  const BlasInfo& blas = blas_info();
  std::ostringstream out;
  out << "heed      " << HEED_VERSION << ", " << kCompiler << '\n'
      << "BLAS      " << blas.library << '\n'
      << "kernels   " << (blas.core.empty() ? "unknown" : blas.core);
  if (blas.user_choice) {
    out << ", as OPENBLAS_CORETYPE says";
  } else if (blas.repaired) {
    out << ", instead of the library's choice, " << blas.found_core;
  }
  out << (blas.slow ? ", too slow for this processor" : "") << '\n'
      << "threads   " << num_threads() << " of " << available_cores()
      << " cores\n"
      << "SIMD      " << simd::name(simd::level()) << '\n';
  return out.str();
}

}  // namespace heed
