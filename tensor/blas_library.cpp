#include "tensor/blas_library.h"

#include <dlfcn.h>

#include <stdexcept>

#include "tensor/error.h"

namespace heed {
namespace {

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

BlasLibrary open_blas() {
  void* const library = open_library();
  // The library binds to the program's OpenMP runtime, if there is one, rather
  // than to its own.
  void* const program = dlopen(nullptr, RTLD_LAZY);
  const auto find_openmp = [&](const char* name) {
    void* const found = dlsym(program, name);
    return found ? found : dlsym(library, name);
  };
  const BlasLibrary blas = {
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

}  // namespace

const BlasLibrary& blas_library() {
  static const BlasLibrary opened = open_blas();
  return opened;
}

}  // namespace heed
