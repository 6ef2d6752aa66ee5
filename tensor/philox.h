#pragma once

#include <array>
#include <cstdint>

namespace heed {

/// One block of Philox 4x32-10 (Salmon et al. 2011, "Parallel random numbers:
/// as easy as 1, 2, 3"): 128 random bits, a function of counter and key alone.
/// Any two different counters, or keys, give independent bits.
std::array<uint32_t, 4> philox(
    std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// Blocks, and 32-bit words, that philox_batch makes at once.
inline constexpr int64_t kPhiloxBatchBlocks = 16;
inline constexpr int64_t kPhiloxBatchWords = 4 * kPhiloxBatchBlocks;

/// The blocks of counters first ... first + 15 to words [64], side by side in
/// SIMD lanes; the block of counter c is
///
///     philox({c low, c high, 0, 0}, {key low, key high})
void philox_batch(uint64_t first, uint64_t key, uint32_t* words);

}  // namespace heed
