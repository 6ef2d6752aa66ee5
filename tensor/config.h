#pragma once

#include <string>

namespace heed {

/// What heed runs on, one thing a line: its version, the compiler, the BLAS and
/// the kernels it uses, threads, and the SIMD level heed was compiled for.
std::string config();

}  // namespace heed
