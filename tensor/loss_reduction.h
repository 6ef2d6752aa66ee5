#pragma once

#include <cstdint>

namespace heed {

/// What a loss makes of the losses of its elements.
enum class Reduction : uint8_t {
  mean,  ///< Their mean; of class targets, over the counted ones.
  sum,   ///< Their sum.
  none,  ///< One loss an element.
};

}  // namespace heed
