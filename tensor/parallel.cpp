#include "tensor/parallel.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "tensor/cores.h"
#include "tensor/error.h"
#include "tensor/thread_pool.h"

namespace heed {
namespace {

constexpr int kMaxThreads = 1024;
constexpr int64_t kOperationsPerPiece = 32768;

/// The pool of the process and the lock of whoever uses it.
struct SharedPool {
  std::mutex mutex;
  std::shared_ptr<ThreadPool> pool;
};

// Never destroyed: workers may outlive static objects. A forked child has none
// of the workers and perhaps a locked mutex, so it starts with a new one.
std::atomic<SharedPool*> current_pool{nullptr};

SharedPool& shared_pool() {
  static const bool made = [] {
    current_pool = new SharedPool;
    pthread_atfork(nullptr, nullptr, [] { current_pool = new SharedPool; });
    return true;
  }();
  static_cast<void>(made);
  return *current_pool;
}

int default_num_threads() {
  if (const char* text = std::getenv("OMP_NUM_THREADS")) {
    // May be a list, one number a nesting level: the first one is ours.
    const long n = std::strtol(text, nullptr, 10);
    if (n >= 1) {
      return static_cast<int>(std::min<long>(n, kMaxThreads));
    }
  }
  return std::min(available_cores(), kMaxThreads);
}

std::atomic<int>& thread_count() {
  static std::atomic<int> count{default_num_threads()};
  return count;
}

}  // namespace

int num_threads() { return thread_count(); }

void set_num_threads(int n) {
  if (n < 1 || n > kMaxThreads) {
    fail("set_num_threads", "n must be in [1, ", kMaxThreads, "], got ", n);
  }
  thread_count() = n;
}

int64_t grain_for(int64_t cost_per_item) {
  return std::max<int64_t>(
      1, kOperationsPerPiece / std::max<int64_t>(1, cost_per_item));
}

void detail::run_pieces(int64_t n, int64_t grain, Piece piece, const void* f) {
  if (grain < 1) {
    fail("parallel_for", "grain must be >= 1, got ", grain);
  }
  if (n <= 0) {
    return;
  }
  const ParallelLoop loop{n, grain, piece, f};
  const int threads = ThreadPool::is_inside_loop() ? 1 : num_threads();
  if (threads > 1 && loop.pieces() > 1) {
    SharedPool& shared = shared_pool();
    const std::unique_lock lock(shared.mutex, std::try_to_lock);
    if (lock) {
      if (!shared.pool || shared.pool->size() != threads) {
        if (shared.pool) {
          shared.pool->dismiss();
        }
        shared.pool = ThreadPool::start(threads);
      }
      shared.pool->run(loop);
      return;
    }
  }
  for (int64_t i = 0; i < loop.pieces(); ++i) {
    loop.run(i);
  }
}

}  // namespace heed
