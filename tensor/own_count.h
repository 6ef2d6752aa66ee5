#pragma once

#include <atomic>
#include <cstdint>

namespace heed {

/// A number that one thread changes and others may read.
class OwnCount {
 public:
  int64_t get() const { return value_.load(std::memory_order_relaxed); }
  void set(int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void add(int64_t n) { set(get() + n); }

 private:
  std::atomic<int64_t> value_{0};
};

}  // namespace heed
