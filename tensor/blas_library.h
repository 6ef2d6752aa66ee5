#pragma once

#include <cblas.h>

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
}

namespace heed {

/// What is called of the BLAS library and of the OpenMP runtime that it asks
/// how many threads to use; heed itself uses none.
struct BlasLibrary {
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

/// Opened at the first call, which throws std::runtime_error without a library;
/// so does the next, unless there is one by then.
const BlasLibrary& blas_library();

}  // namespace heed
