#include "tensor/philox.h"

namespace heed {

std::array<uint32_t, 4> philox(
    std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < detail::kPhiloxRounds; ++round) {
    detail::philox_round(
        counter[0], counter[1], counter[2], counter[3], key[0], key[1]);
    key[0] += detail::kPhiloxKeyStep0;
    key[1] += detail::kPhiloxKeyStep1;
  }
  return counter;
}

}  // namespace heed
