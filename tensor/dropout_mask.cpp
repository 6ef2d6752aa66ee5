#include "tensor/dropout_mask.h"

#include "tensor/philox.h"
#include "tensor/simd.h"

namespace heed {
namespace {

constexpr int kBlocks = 32;  // of four words, made at once
constexpr int64_t kBatch = 4 * kBlocks;
static_assert(dropout_room(0) >= kBatch + 3);

inline void draw(
    uint64_t block, uint64_t seed, int64_t count, uint32_t* words) {
  for (int64_t done = 0; done < count; done += kBatch) {
    philox_batch<kBlocks>(block, seed, words + done);
    block += kBlocks;
  }
}

}  // namespace

const uint32_t* dropout_words(
    const GeneratorState& start, int64_t first, int64_t n, uint32_t* room) {
  const uint64_t block = start.offset + static_cast<uint64_t>(first) / 4;
  const int64_t skipped = first % 4;
  simd::call<draw>(block, start.seed, skipped + n, room);
  return room + skipped;
}

}  // namespace heed
