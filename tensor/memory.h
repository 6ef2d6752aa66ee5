#pragma once

#include <cstddef>
#include <cstdint>

namespace heed {

/// What the tensors of this process hold, in bytes.
struct MemoryStats {
  int64_t live_bytes = 0;    ///< Held by tensors now.
  int64_t peak_bytes = 0;    ///< Highest live_bytes since reset_peak_memory().
  int64_t cached_bytes = 0;  ///< Kept for the next tensor, used by none.
  int64_t live_tensors = 0;  ///< Storages alive; views share one.
};

/// When several threads make tensors, peak_bytes may be off by 64 KiB for each
/// of them; all else is exact.
MemoryStats memory_stats();
/// Counts peak_bytes anew from what is live now.
void reset_peak_memory();

/// Gives the cached bytes back to the system, but for the rest of a block that
/// a smaller tensor is in, and for what other threads than the caller's keep at
/// hand for themselves: small blocks, a few MiB at most.
void empty_cache();

namespace detail {

/// A block of at least `bytes` bytes, aligned to 64, out of the caching pool,
/// counted as a tensor's. Throws std::bad_alloc. Thread-safe, as all functions
/// here.
void* pool_allocate(size_t bytes);
/// Takes back what pool_allocate(bytes) gave.
void pool_free(void* block, size_t bytes) noexcept;

/// As pool_allocate for what is no tensor, and not counted.
void* block_allocate(size_t bytes);
/// Takes back what block_allocate(bytes) gave.
void block_free(void* block, size_t bytes) noexcept;

}  // namespace detail

}  // namespace heed
