#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace heed {

/// The memory behind one or more tensors: a header and, 64 bytes on, the
/// elements, in one block of the caching pool. Reference counted by Storage.
///
/// The version counts the writes made through tensors; autograd compares it to
/// see that a value saved for backward is still what it was.
class Storage {
 public:
  Storage() = default;
  /// Uninitialised room for `bytes` bytes. Throws std::bad_alloc.
  explicit Storage(int64_t bytes);
  Storage(const Storage& other) noexcept : block_(other.block_) { retain(); }
  Storage(Storage&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)) {}
  Storage& operator=(Storage other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Storage() { release(); }

  explicit operator bool() const { return block_ != nullptr; }
  friend bool operator==(const Storage&, const Storage&) = default;

  std::byte* data() const {
    return reinterpret_cast<std::byte*>(block_) + sizeof(Block);
  }
  /// The room there is for elements.
  int64_t bytes() const {
    return block_ == nullptr
               ? 0
               : static_cast<int64_t>(block_->bytes - sizeof(Block));
  }
  /// How many tensors hold this storage; 0 for none at all.
  uint32_t use_count() const {
    return block_ == nullptr
               ? 0
               : block_->references.load(std::memory_order_acquire);
  }
  uint32_t version() const {
    return block_ == nullptr ? 0
                             : block_->version.load(std::memory_order_relaxed);
  }
  void bump_version() const {
    if (use_count() == 1) {  // nobody else can be counting
      block_->version.store(version() + 1, std::memory_order_relaxed);
    } else {
      block_->version.fetch_add(1, std::memory_order_relaxed);
    }
  }

 private:
  struct alignas(64) Block {
    std::atomic<uint32_t> references;
    std::atomic<uint32_t> version;
    size_t bytes;  // of the whole block
  };

  void retain() const noexcept {
    if (block_ != nullptr) {
      block_->references.fetch_add(1, std::memory_order_relaxed);
    }
  }
  void release() noexcept {
    if (block_ != nullptr &&
        // Who sees that he is the last one need not count down.
        (block_->references.load(std::memory_order_acquire) == 1 ||
         block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1)) {
      free_block();
    }
  }
  void free_block() noexcept;

  Block* block_ = nullptr;
};

}  // namespace heed
