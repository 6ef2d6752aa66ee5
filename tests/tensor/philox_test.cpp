#include "tensor/philox.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace {

using namespace heed;

TEST_CASE("philox: the known answers of Random123") {
  using Block = std::array<uint32_t, 4>;
  constexpr uint32_t kOnes = 0xffffffff;
  CHECK(
      philox({0, 0, 0, 0}, {0, 0}) ==
      Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(
      philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}) ==
      Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(
      philox(
          {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
          {0xa4093822, 0x299f31d0}) ==
      Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

template <int kBlocks>
void check_batch(uint64_t first) {
  const uint64_t key = 0x0123456789abcdef;
  uint32_t words[4 * kBlocks];
  simd::call<philox_batch<kBlocks>>(first, key, words + 0);
  for (uint64_t i = 0; i < kBlocks; ++i) {
    const uint64_t counter = first + i;
    const std::array<uint32_t, 4> block = philox(
        {static_cast<uint32_t>(counter),
         static_cast<uint32_t>(counter >> 32),
         0,
         0},
        {0x89abcdef, 0x01234567});
    CHECK(std::equal(block.begin(), block.end(), words + 4 * i));
  }
}

TEST_CASE("philox: a batch is its blocks, over the carry of the counter too") {
  for (const uint64_t first :
       {uint64_t{0}, uint64_t{0xfffffff8}, ~uint64_t{0} - 5}) {
    check_batch<16>(first);
    check_batch<32>(first);
  }
}

}  // namespace
