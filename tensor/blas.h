#pragma once

#include "tensor/gemm.h"

namespace heed {

/// Makes BLAS calls of this thread single-threaded while it lives. The OpenMP
/// build of OpenBLAS goes by a setting of the calling thread; it costs a few
/// nanoseconds and is put back for the user's own OpenMP loops.
class SingleThreadedBlas {
 public:
  SingleThreadedBlas();
  ~SingleThreadedBlas();
  SingleThreadedBlas(const SingleThreadedBlas&) = delete;
  SingleThreadedBlas& operator=(const SingleThreadedBlas&) = delete;

 private:
  int before_ = 1;
};

/// One product by one BLAS call; sizes in [1, 2^31). blas_info() must have been
/// called before, and a SingleThreadedBlas must be alive.
void call_blas(const Gemm<float>& product);
void call_blas(const Gemm<double>& product);

}  // namespace heed
