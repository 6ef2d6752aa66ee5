#pragma once

#include <string>

namespace heed {

/// What heed runs on, one thing a line: its version, the compiler, the BLAS and
/// the kernels it uses, threads, and the SIMD level of heed's own kernels.
std::string config();

}  // namespace heed
