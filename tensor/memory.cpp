#include "tensor/memory.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <unordered_map>

#include "tensor/hold_while_forking.h"
#include "tensor/own_count.h"
#include "tensor/per_thread.h"

namespace heed {
namespace {

constexpr std::align_val_t kAlignment{64};

// Blocks come in classes: multiples of 64 bytes up to 1 KiB, then four to each
// power of two, so at most a fifth of a bigger block is unused and a freed
// block serves every later tensor of about its size.
constexpr size_t kSmall = 1024;
constexpr int kSmallClasses = kSmall / 64;
constexpr int kClasses = kSmallClasses + 4 * 51;

int class_of(size_t bytes) {
  if (bytes <= kSmall) {
    return bytes == 0 ? 0 : static_cast<int>((bytes - 1) / 64);
  }
  const int log2 = std::bit_width(bytes - 1) - 1;  // bytes in (2^log2, 2^+1]
  const size_t quarter = size_t{1} << (log2 - 2);
  const size_t quarters = (bytes + quarter - 1) / quarter;  // 5 .. 8
  return kSmallClasses + 4 * (log2 - 10) + static_cast<int>(quarters) - 5;
}

size_t class_bytes(int index) {
  if (index < kSmallClasses) {
    return 64 * (static_cast<size_t>(index) + 1);
  }
  const int above = index - kSmallClasses;
  return (size_t{1} << (above / 4 + 8)) * (above % 4 + 5);
}

// Batches of many shapes would fill the free lists of many classes. Once more
// is held than half as much again as tensors ever filled, a block of at least
// 256 KiB may come from up to seven classes above: less than four times as big.
const int kBigClass = class_of(size_t{1} << 18);
constexpr int kClassesAbove = 7;

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

// Free blocks of one class, each holding the address of the next one.
class FreeList {
 public:
  int64_t size() const { return size_; }
  void push(void* block) {
    first_ = new (block) Link{first_};
    ++size_;
  }
  void* first() const { return first_; }
  void* pop() {
    Link* const block = first_;
    first_ = block->next;
    --size_;
    return block;
  }

 private:
  struct Link {
    Link* next;
  };
  Link* first_ = nullptr;
  int64_t size_ = 0;
};

// What all threads share.
struct Pool {
  std::mutex mutex;
  std::array<FreeList, kClasses> free_blocks;
  std::unordered_map<void*, int> larger;  // blocks in use as smaller ones
  MemoryStats stats;
  int64_t most_live = 0;  // highest live_bytes since release()

  // The callers of these hold the mutex.

  void* take(int index) {
    if (free_blocks[index].size() > 0) {
      return take_free(index, index);
    }
    if (index >= kBigClass && holds_much_with(class_bytes(index))) {
      const int last = std::min(index + kClassesAbove, kClasses - 1);
      for (int above = index + 1; above <= last; ++above) {
        if (free_blocks[above].size() > 0) {
          larger.emplace(free_blocks[above].first(), above);
          return take_free(above, index);
        }
      }
    }
    try {
      return ::operator new(class_bytes(index), kAlignment);
    } catch (const std::bad_alloc&) {
      release();
      return ::operator new(class_bytes(index), kAlignment);
    }
  }
  // A block of class `index` for use as one of class `used_as`. What it has
  // more stays counted as cached.
  void* take_free(int index, int used_as) {
    stats.cached_bytes -= static_cast<int64_t>(class_bytes(used_as));
    return free_blocks[index].pop();
  }
  bool holds_much_with(size_t more) const {
    const int64_t held =
        stats.live_bytes + stats.cached_bytes + static_cast<int64_t>(more);
    return held > most_live + most_live / 2;
  }
  void give(int index, void* block) {
    stats.cached_bytes += static_cast<int64_t>(class_bytes(index));
    if (index >= kBigClass && !larger.empty()) {
      const auto found = larger.find(block);
      if (found != larger.end()) {
        index = found->second;
        larger.erase(found);
      }
    }
    free_blocks[index].push(block);
  }
  void release() {
    for (int index = 0; index < kClasses; ++index) {
      FreeList& blocks = free_blocks[index];
      stats.cached_bytes -=
          blocks.size() * static_cast<int64_t>(class_bytes(index));
      while (blocks.size() > 0) {
        ::operator delete(blocks.pop(), kAlignment);
      }
    }
    most_live = stats.live_bytes;
  }
  void count(int64_t bytes, int64_t most, int64_t tensors) {
    stats.peak_bytes = std::max(stats.peak_bytes, stats.live_bytes + most);
    most_live = std::max(most_live, stats.live_bytes + most);
    stats.live_bytes += bytes;
    stats.live_tensors += tensors;
  }
};

// Never destroyed: tensors with static lifetime may outlive it.
Pool& pool();

// What one thread keeps for itself: free small blocks, and counts that it has
// not reported to the pool yet.
class ThreadCache {
 public:
  void* take(int index) {
    if (blocks_[index].size() == 0) {
      return refill(index);
    }
    cached_bytes_.add(-static_cast<int64_t>(class_bytes(index)));
    return blocks_[index].pop();
  }
  void give(int index, void* block) {
    const auto bytes = static_cast<int64_t>(class_bytes(index));
    cached_bytes_.add(bytes);
    blocks_[index].push(block);
    if (blocks_[index].size() * bytes > kKept) {
      give_back(index, kKept / bytes / 2);
    }
  }
  void count(int64_t bytes, int64_t tensors) {
    live_tensors_.add(tensors);
    live_bytes_.add(bytes);
    most_bytes_ = std::max(most_bytes_, live_bytes_.get());
    if (std::abs(live_bytes_.get()) > kUnreported) {
      report();
    }
  }
  /// Brings the pool's counts up to date.
  void report() {
    Pool& p = pool();
    const std::lock_guard lock(p.mutex);
    p.count(live_bytes_.get(), most_bytes_, live_tensors_.get());
    live_bytes_.set(0);
    most_bytes_ = 0;
    live_tensors_.set(0);
  }
  /// Gives all free blocks to the pool.
  void give_back() {
    for (int index = 0; index < kSmallClasses; ++index) {
      give_back(index, 0);
    }
  }
  void retire() {
    report();
    give_back();
  }
  /// As report(), in a forked child, for which the pool is locked already. The
  /// thread may have been changing its list of blocks, so these are lost.
  void forget() {
    pool().count(live_bytes_.get(), most_bytes_, live_tensors_.get());
  }
  /// Adds what the pool does not know yet to `stats`.
  void add_to(MemoryStats& stats) const {
    stats.live_bytes += live_bytes_.get();
    stats.live_tensors += live_tensors_.get();
    stats.cached_bytes += cached_bytes_.get();
  }

 private:
  static constexpr int64_t kKept = 1 << 20;        // bytes of each class
  static constexpr int64_t kUnreported = 1 << 16;  // bytes
  static constexpr int kRefill = 32;               // blocks

  // One block to use, and some more if the pool has them.
  [[gnu::noinline]] void* refill(int index) {
    Pool& p = pool();
    const std::lock_guard lock(p.mutex);
    for (int i = 0; i < kRefill && p.free_blocks[index].size() > 1; ++i) {
      blocks_[index].push(p.take(index));
      cached_bytes_.add(static_cast<int64_t>(class_bytes(index)));
    }
    return p.take(index);
  }
  [[gnu::noinline]] void give_back(int index, int64_t kept) {
    Pool& p = pool();
    const std::lock_guard lock(p.mutex);
    while (blocks_[index].size() > kept) {
      p.give(index, blocks_[index].pop());
      cached_bytes_.add(-static_cast<int64_t>(class_bytes(index)));
    }
  }

  std::array<FreeList, kSmallClasses> blocks_;
  OwnCount live_bytes_;
  int64_t most_bytes_ = 0;  // highest live_bytes_
  OwnCount live_tensors_;
  OwnCount cached_bytes_;
};

ThreadCache* thread_cache() { return PerThread<ThreadCache>::get(); }

Pool& pool() {
  static Pool* const instance = [] {
    thread_cache();  // whose lock memory_stats() takes while it holds the
                     // pool's
    hold_while_forking<[]() -> std::mutex& { return pool().mutex; }>();
    return new Pool;
  }();
  return *instance;
}

// Made while there is one thread: a child forked in the midst of it would wait
// for it for ever.
[[maybe_unused]] const Pool& made_early = pool();

void* take(int index) {
  if (index < kSmallClasses) {
    if (ThreadCache* const mine = thread_cache()) {
      return mine->take(index);
    }
  }
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  return p.take(index);
}

void give(int index, void* block) noexcept {
  if (!kCaching) {
    ::operator delete(block, kAlignment);
    return;
  }
  if (index < kSmallClasses) {
    if (ThreadCache* const mine = thread_cache()) {
      mine->give(index, block);
      return;
    }
  }
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  p.give(index, block);
}

void count(int index, int64_t tensors) {
  const int64_t bytes = tensors * static_cast<int64_t>(class_bytes(index));
  if (ThreadCache* const mine = thread_cache()) {
    mine->count(bytes, tensors);
  } else {
    Pool& p = pool();
    const std::lock_guard lock(p.mutex);
    p.count(bytes, bytes, tensors);
  }
}

void report() {
  if (ThreadCache* const mine = thread_cache()) {
    mine->report();
  }
}

}  // namespace

MemoryStats memory_stats() {
  report();
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  MemoryStats stats = p.stats;
  PerThread<ThreadCache>::for_each(
      [&](const ThreadCache& of) { of.add_to(stats); });
  stats.peak_bytes = std::max(stats.peak_bytes, stats.live_bytes);
  return stats;
}

void reset_peak_memory() {
  const MemoryStats stats = memory_stats();
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  p.stats.peak_bytes = stats.live_bytes;
}

void empty_cache() {
  if (ThreadCache* const mine = thread_cache()) {
    mine->give_back();
  }
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  p.release();
}

void* detail::pool_allocate(size_t bytes) {
  if (bytes > size_t{1} << 60) {
    throw std::bad_alloc();
  }
  const int index = class_of(bytes);
  void* const block = take(index);
  count(index, 1);
  return block;
}

void detail::pool_free(void* block, size_t bytes) noexcept {
  const int index = class_of(bytes);
  count(index, -1);
  give(index, block);
}

void* detail::block_allocate(size_t bytes) { return take(class_of(bytes)); }

void detail::block_free(void* block, size_t bytes) noexcept {
  give(class_of(bytes), block);
}

}  // namespace heed
