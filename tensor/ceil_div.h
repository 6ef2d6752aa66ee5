#pragma once

#include <cstdint>

namespace heed {

/// n / d rounded up, for n >= 0 and d > 0: how many pieces of d hold n.
constexpr int64_t ceil_div(int64_t n, int64_t d) { return (n + d - 1) / d; }

}  // namespace heed
