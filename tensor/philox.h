#pragma once

#include <array>
#include <cstdint>

#include "tensor/simd.h"

namespace heed {

/// One block of Philox 4x32-10 (Salmon et al. 2011, "Parallel random numbers:
/// as easy as 1, 2, 3"): 128 random bits, a function of counter and key alone.
/// Any two different counters, or keys, give independent bits.
std::array<uint32_t, 4> philox(
    std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

namespace detail {

inline constexpr int kPhiloxRounds = 10;
inline constexpr uint64_t kPhiloxMultiplier0 = 0xD2511F53;
inline constexpr uint64_t kPhiloxMultiplier1 = 0xCD9E8D57;
inline constexpr uint32_t kPhiloxKeyStep0 = 0x9E3779B9;  // golden ratio
inline constexpr uint32_t kPhiloxKeyStep1 = 0xBB67AE85;  // sqrt(3) - 1

[[gnu::always_inline]] inline void philox_round(
    uint32_t& x0,
    uint32_t& x1,
    uint32_t& x2,
    uint32_t& x3,
    uint32_t key0,
    uint32_t key1) {
  const uint64_t product0 = kPhiloxMultiplier0 * x0;
  const uint64_t product1 = kPhiloxMultiplier1 * x2;
  x0 = static_cast<uint32_t>(product1 >> 32) ^ x1 ^ key0;
  x1 = static_cast<uint32_t>(product1);
  x2 = static_cast<uint32_t>(product0 >> 32) ^ x3 ^ key1;
  x3 = static_cast<uint32_t>(product0);
}

/// The round on pairs, each in 64 bits: x01 = x0 + 2^32 x1, x23 likewise.
[[gnu::always_inline]] inline void philox_round(
    uint64_t& x01, uint64_t& x23, uint32_t key0, uint32_t key1) {
  const uint64_t product0 = kPhiloxMultiplier0 * static_cast<uint32_t>(x01);
  const uint64_t product1 = kPhiloxMultiplier1 * static_cast<uint32_t>(x23);
  x01 = (product1 >> 32 | product1 << 32) ^ x01 >> 32 ^ key0;
  x23 = (product0 >> 32 | product0 << 32) ^ x23 >> 32 ^ key1;
}

template <int kBlocks>
[[gnu::always_inline]] inline void philox_batch32(
    uint64_t first, uint32_t key0, uint32_t key1, uint32_t* words) {
  uint32_t x0[kBlocks], x1[kBlocks], x2[kBlocks], x3[kBlocks];
  for (int lane = 0; lane < kBlocks; ++lane) {
    const uint64_t counter = first + static_cast<uint64_t>(lane);
    x0[lane] = static_cast<uint32_t>(counter);
    x1[lane] = static_cast<uint32_t>(counter >> 32);
    x2[lane] = 0;
    x3[lane] = 0;
  }
  for (int round = 0; round < kPhiloxRounds; ++round) {
#pragma omp simd
    for (int lane = 0; lane < kBlocks; ++lane) {
      philox_round(x0[lane], x1[lane], x2[lane], x3[lane], key0, key1);
    }
    key0 += kPhiloxKeyStep0;
    key1 += kPhiloxKeyStep1;
  }
#pragma omp simd
  for (int lane = 0; lane < kBlocks; ++lane) {
    words[4 * lane] = x0[lane];
    words[4 * lane + 1] = x1[lane];
    words[4 * lane + 2] = x2[lane];
    words[4 * lane + 3] = x3[lane];
  }
}

template <int kBlocks>
[[gnu::always_inline]] inline void philox_batch64(
    uint64_t first, uint32_t key0, uint32_t key1, uint32_t* words) {
  uint64_t x01[kBlocks], x23[kBlocks];
#pragma omp simd
  for (int lane = 0; lane < kBlocks; ++lane) {
    x01[lane] = first + static_cast<uint64_t>(lane);
    x23[lane] = 0;
  }
  for (int round = 0; round < kPhiloxRounds; ++round) {
#pragma omp simd
    for (int lane = 0; lane < kBlocks; ++lane) {
      philox_round(x01[lane], x23[lane], key0, key1);
    }
    key0 += kPhiloxKeyStep0;
    key1 += kPhiloxKeyStep1;
  }
#pragma omp simd
  for (int lane = 0; lane < kBlocks; ++lane) {
    words[4 * lane] = static_cast<uint32_t>(x01[lane]);
    words[4 * lane + 1] = static_cast<uint32_t>(x01[lane] >> 32);
    words[4 * lane + 2] = static_cast<uint32_t>(x23[lane]);
    words[4 * lane + 3] = static_cast<uint32_t>(x23[lane] >> 32);
  }
}

}  // namespace detail

/// The blocks of counters first ... first + kBlocks - 1 to words [4 kBlocks],
/// side by side in SIMD lanes; the block of counter c is
///
///     philox({c low, c high, 0, 0}, {key low, key high})
///
/// For kernels that are called through simd::call; the words are the same at
/// every level.
template <int kBlocks>
[[gnu::always_inline]] inline void philox_batch(
    uint64_t first, uint64_t key, uint32_t* words) {
  const auto key0 = static_cast<uint32_t>(key);
  const auto key1 = static_cast<uint32_t>(key >> 32);
  // Only AVX-512 multiplies 64-bit lanes.
  if (simd::level() == simd::Level::avx512) {
    detail::philox_batch64<kBlocks>(first, key0, key1, words);
  } else {
    detail::philox_batch32<kBlocks>(first, key0, key1, words);
  }
}

}  // namespace heed
