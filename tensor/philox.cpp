#include "tensor/philox.h"

namespace heed {
namespace {

constexpr int kRounds = 10;
constexpr uint64_t kMultiplier0 = 0xD2511F53;
constexpr uint64_t kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kKeyStep0 = 0x9E3779B9;  // golden ratio
constexpr uint32_t kKeyStep1 = 0xBB67AE85;  // sqrt(3) - 1

[[gnu::always_inline]] inline void mix(
    uint32_t& x0,
    uint32_t& x1,
    uint32_t& x2,
    uint32_t& x3,
    uint32_t key0,
    uint32_t key1) {
  const uint64_t product0 = kMultiplier0 * x0;
  const uint64_t product1 = kMultiplier1 * x2;
  x0 = static_cast<uint32_t>(product1 >> 32) ^ x1 ^ key0;
  x1 = static_cast<uint32_t>(product1);
  x2 = static_cast<uint32_t>(product0 >> 32) ^ x3 ^ key1;
  x3 = static_cast<uint32_t>(product0);
}

}  // namespace

std::array<uint32_t, 4> philox(
    std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    mix(counter[0], counter[1], counter[2], counter[3], key[0], key[1]);
    key[0] += kKeyStep0;
    key[1] += kKeyStep1;
  }
  return counter;
}

void philox_batch(uint64_t first, uint64_t key, uint32_t* words) {
  constexpr int kLanes = kPhiloxBatchBlocks;
  uint32_t x0[kLanes], x1[kLanes], x2[kLanes], x3[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint64_t counter = first + static_cast<uint64_t>(lane);
    x0[lane] = static_cast<uint32_t>(counter);
    x1[lane] = static_cast<uint32_t>(counter >> 32);
    x2[lane] = 0;
    x3[lane] = 0;
  }
  uint32_t key0 = static_cast<uint32_t>(key);
  uint32_t key1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < kRounds; ++round) {
#pragma omp simd
    for (int lane = 0; lane < kLanes; ++lane) {
      mix(x0[lane], x1[lane], x2[lane], x3[lane], key0, key1);
    }
    key0 += kKeyStep0;
    key1 += kKeyStep1;
  }
#pragma omp simd
  for (int lane = 0; lane < kLanes; ++lane) {
    words[4 * lane] = x0[lane];
    words[4 * lane + 1] = x1[lane];
    words[4 * lane + 2] = x2[lane];
    words[4 * lane + 3] = x3[lane];
  }
}

}  // namespace heed
