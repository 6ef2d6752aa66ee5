#include "tensor/thread_pool.h"

#include <limits>
#include <thread>
#include <utility>

#include "tensor/cores.h"

namespace heed {
namespace {

// About 50 us of waiting awake: longer than the gap between two loops of a
// training step, too short to be felt by anyone else on the machine.
constexpr int kSpins = 2000;

thread_local bool inside_loop = false;

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

}  // namespace

std::shared_ptr<ThreadPool> ThreadPool::start(int size) {
  auto pool = std::make_shared<ThreadPool>(size);
  try {
    for (int i = 1; i < size; ++i) {
      std::thread([pool, i] { pool->serve(i); }).detach();
    }
  } catch (const std::exception&) {
    // No more threads or memory: the ranges of workers that never came are
    // taken by the others.
  }
  return pool;
}

bool ThreadPool::is_inside_loop() { return inside_loop; }

ThreadPool::ThreadPool(int size)
    : size_(size),
      spins_(size <= available_cores() ? kSpins : 0),
      ranges_(new Range[size]) {}

void ThreadPool::run(const ParallelLoop& loop) {
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

void ThreadPool::dismiss() {
  stop_ = true;
  round_.fetch_add(1);
  round_.notify_all();
}

int64_t ThreadPool::cut(int64_t pieces, int member) const {
  return pieces / size_ * member + std::min<int64_t>(member, pieces % size_);
}

// Takes pieces from the member's own range, then from the others'.
void ThreadPool::work(int member) {
  inside_loop = true;
  for (int i = 0; i < size_; ++i) {
    Range& range = ranges_[(member + i) % size_];
    for (int64_t piece;
         range.next.load() < range.end && (piece = range.next++) < range.end;) {
      run_piece(piece);
    }
  }
  inside_loop = false;
}

// A piece below one that failed still runs: it may fail too and is then the one
// to be reported.
void ThreadPool::run_piece(int64_t piece) {
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

void ThreadPool::serve(int member) {
  for (unsigned seen = 0; !stop_;) {
    wait_while(round_, seen, spins_);
    seen = round_;
    // The caller closes the loop, then looks for busy members; a member says it
    // is busy, then looks whether the loop is open. So one sees the other.
    busy_.fetch_add(1);
    if (open_) {
      work(member);
    }
    busy_.fetch_sub(1);
    busy_.notify_all();
  }
}

}  // namespace heed
