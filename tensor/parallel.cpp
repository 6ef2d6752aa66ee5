#include "tensor/parallel.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "tensor/cores.h"
#include "tensor/error.h"

namespace heed {
namespace {

constexpr int kMaxThreads = 1024;
constexpr int64_t kOperationsPerPiece = 32768;
// About 50 us of waiting awake: longer than the gap between two loops of a
// training step, too short to be felt by anyone else on the machine.
constexpr int kSpins = 2000;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

/// Waits until `value` is no longer `old`: awake at first, then asleep.
template <typename T>
void wait_while(const std::atomic<T>& value, T old, int spins) {
  for (int i = 0; i < spins; ++i) {
    if (value.load() != old) {
      return;
    }
    relax();
  }
  value.wait(old);
}

struct Loop {
  int64_t n;
  int64_t grain;
  detail::Piece piece;
  const void* f;

  int64_t pieces() const { return (n - 1) / grain + 1; }
  void run(int64_t i) const {
    const int64_t begin = i * grain;
    piece(f, begin, std::min(grain, n - begin) + begin);
  }
};

thread_local bool inside_loop = false;

/// A caller and its workers, who run one Loop at a time together.
class ThreadPool {
 public:
  /// Starts up to `size - 1` workers; fewer if the system gives no more.
  static std::shared_ptr<ThreadPool> start(int size) {
    auto pool = std::make_shared<ThreadPool>(size);
    try {
      for (int i = 1; i < size; ++i) {
        std::thread([pool, i] { pool->serve(i); }).detach();
      }
    } catch (const std::system_error&) {
      // The ranges of workers that never came are taken by the others.
    }
    return pool;
  }

  explicit ThreadPool(int size)
      : size_(size),
        spins_(size <= available_cores() ? kSpins : 0),
        ranges_(new Range[size]) {}

  int size() const { return size_; }

  void dismiss() {
    stop_ = true;
    round_.fetch_add(1);
    round_.notify_all();
  }

  /// Runs every piece of `loop`; the caller works too.
  void run(const Loop& loop) {
    loop_ = &loop;
    failed_piece_ = std::numeric_limits<int64_t>::max();
    const int64_t pieces = loop.pieces();
    for (int i = 0; i < size_; ++i) {
      ranges_[i].next = cut(pieces, i);
      ranges_[i].end = cut(pieces, i + 1);
    }
    open_ = true;
    round_.fetch_add(1);
    round_.notify_all();
    work(0);
    // Whoever has not come by now need not come at all; wait for the others.
    open_ = false;
    for (int busy; (busy = busy_.load()) != 0;) {
      wait_while(busy_, busy, spins_);
    }
    if (failure_) {
      std::rethrow_exception(std::exchange(failure_, nullptr));
    }
  }

 private:
  // Pieces [next, end) of one member: the same ones in every loop of the same
  // size, so that they are found in that core's cache. On its own cache line.
  struct alignas(64) Range {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  int64_t cut(int64_t pieces, int member) const {
    return pieces / size_ * member + std::min<int64_t>(member, pieces % size_);
  }

  /// Takes pieces from the member's own range, then from the others'.
  void work(int member) {
    inside_loop = true;
    for (int i = 0; i < size_; ++i) {
      Range& range = ranges_[(member + i) % size_];
      for (int64_t piece; range.next.load() < range.end &&
                          (piece = range.next++) < range.end;) {
        run_piece(piece);
      }
    }
    inside_loop = false;
  }

  // A piece below one that failed still runs: it may fail too and is then the
  // one to be reported.
  void run_piece(int64_t piece) {
    if (piece > failed_piece_.load()) {
      return;
    }
    try {
      loop_->run(piece);
    } catch (...) {
      const std::lock_guard lock(failure_mutex_);
      if (piece < failed_piece_) {
        failed_piece_ = piece;
        failure_ = std::current_exception();
      }
    }
  }

  void serve(int member) {
    for (unsigned seen = 0; !stop_;) {
      wait_while(round_, seen, spins_);
      seen = round_;
      // The caller closes the loop, then looks for busy members; a member says
      // it is busy, then looks whether the loop is open. So one sees the other.
      busy_.fetch_add(1);
      if (open_) {
        work(member);
      }
      busy_.fetch_sub(1);
      busy_.notify_all();
    }
  }

  const int size_;
  const int spins_;
  const std::unique_ptr<Range[]> ranges_;
  const Loop* loop_ = nullptr;
  alignas(64) std::atomic<unsigned> round_{0};
  std::atomic<bool> open_{false};
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<int> busy_{0};
  std::atomic<int64_t> failed_piece_{0};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

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
  const Loop loop{n, grain, piece, f};
  const int threads = inside_loop ? 1 : num_threads();
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
