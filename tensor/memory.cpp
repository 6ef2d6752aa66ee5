#include "tensor/memory.h"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <new>
#include <vector>

namespace heed {
namespace {

constexpr std::align_val_t kAlignment{64};

// Blocks come in classes, four to each power of two (64, 80, 96, 112, 128,
// 160, ...), so at most a fifth of a block is unused and a freed block serves
// every later tensor of about its size.
constexpr int kClasses = 4 * 58;
constexpr size_t kSmallest = 64;

int class_of(size_t bytes) {
  bytes = std::max(bytes, kSmallest);
  const int log2 = std::bit_width(bytes - 1) - 1;  // bytes in (2^log2, 2^+1]
  const size_t quarter = size_t{1} << (log2 - 2);
  const size_t quarters = (bytes + quarter - 1) / quarter;  // 5 .. 8
  return 4 * (log2 - 5) + static_cast<int>(quarters) - 5;
}

size_t class_bytes(int index) {
  const int log2 = index / 4 + 5;
  const size_t bytes = (size_t{1} << (log2 - 2)) * (index % 4 + 5);
  return (bytes + 63) / 64 * 64;
}

// Under AddressSanitizer nothing is cached: each use after free is seen.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kCaching = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kCaching = false;
#else
constexpr bool kCaching = true;
#endif
#else
constexpr bool kCaching = true;
#endif

struct Pool {
  std::mutex mutex;
  std::array<std::vector<void*>, kClasses> free_blocks;
  MemoryStats stats;
};

// Never destroyed: tensors with static lifetime may outlive it.
Pool& pool() {
  static Pool* const instance = new Pool;
  return *instance;
}

void release_cache(Pool& p) {
  for (std::vector<void*>& blocks : p.free_blocks) {
    for (void* block : blocks) {
      ::operator delete(block, kAlignment);
    }
    blocks.clear();
  }
  p.stats.cached_bytes = 0;
}

}  // namespace

MemoryStats memory_stats() {
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  return p.stats;
}

void reset_peak_memory() {
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  p.stats.peak_bytes = p.stats.live_bytes;
}

void empty_cache() {
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  release_cache(p);
}

void* pool_allocate(size_t bytes) {
  if (bytes > size_t{1} << 60) {
    throw std::bad_alloc();
  }
  const int index = class_of(bytes);
  const size_t size = class_bytes(index);
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  std::vector<void*>& blocks = p.free_blocks[index];
  void* block = nullptr;
  if (!blocks.empty()) {
    block = blocks.back();
    blocks.pop_back();
    p.stats.cached_bytes -= static_cast<int64_t>(size);
  } else {
    try {
      block = ::operator new(size, kAlignment);
    } catch (const std::bad_alloc&) {
      release_cache(p);
      block = ::operator new(size, kAlignment);
    }
  }
  p.stats.live_bytes += static_cast<int64_t>(size);
  p.stats.peak_bytes = std::max(p.stats.peak_bytes, p.stats.live_bytes);
  ++p.stats.live_tensors;
  return block;
}

void pool_free(void* block, size_t bytes) noexcept {
  const int index = class_of(bytes);
  const auto size = static_cast<int64_t>(class_bytes(index));
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  p.stats.live_bytes -= size;
  --p.stats.live_tensors;
  if (kCaching) {
    try {
      p.free_blocks[index].push_back(block);
      p.stats.cached_bytes += size;
      return;
    } catch (const std::bad_alloc&) {
      // No room to remember the block: it goes back to the system.
    }
  }
  ::operator delete(block, kAlignment);
}

}  // namespace heed
