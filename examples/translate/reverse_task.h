#pragma once

#include <cstdint>

#include "examples/translate/parallel_text.h"

namespace translate {

/// JoeyNMT's first task (Kreutzer et al. 2019, arXiv:1907.12484): integers 0 to
/// 49, to be said backwards. 50,000 training pairs of 1 to 25 integers; `valid`
/// and `test`, 1,000 pairs each, have up to 30: the longest are longer than any
/// that was trained on.
Dataset reverse_task(uint64_t seed);

}  // namespace translate
