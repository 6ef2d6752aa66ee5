// How fast a 1024 x 1024 x 1024 float32 product runs, and on which kernels:
// median and best of 21, in GFLOP/s.
//
//   gemm                   heed's kernels, where the processor has AVX-512
//   HEED_SIMD=avx2 gemm    those of OpenBLAS that heed settles on; with
//                          OPENBLAS_CORETYPE=Prescott, say, others
#include <heed/heed.h>
#include <heed/tensor/blas_info.h>
#include <heed/tensor/simd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

int main() {
  using Clock = std::chrono::steady_clock;
  constexpr int64_t kSize = 1024;
  constexpr int kRuns = 21;
  const heed::Tensor a = heed::randn({kSize, kSize});
  const heed::Tensor b = heed::randn({kSize, kSize});
  heed::matmul(a, b);  // wakes the threads
  std::vector<double> speeds;
  for (int i = 0; i < kRuns; ++i) {
    const auto start = Clock::now();
    heed::matmul(a, b);
    const std::chrono::duration<double> time = Clock::now() - start;
    speeds.push_back(2.0 * kSize * kSize * kSize / time.count() / 1e9);
  }
  std::sort(speeds.begin(), speeds.end());
  const bool own = heed::simd::level() == heed::simd::Level::avx512;
  std::printf(
      "%-12s %d threads  median %6.1f  best %6.1f GFLOP/s\n",
      own ? heed::simd::name(heed::simd::level())
          : heed::blas_info().core.c_str(),
      heed::num_threads(),
      speeds[kRuns / 2],
      speeds.back());
  return 0;
}
