#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>

#include "tensor/parallel.h"

namespace heed {

/// A parallel_for: its pieces are [i * grain, (i + 1) * grain) of [0, n).
struct ParallelLoop {
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

/// A caller and its workers, who run one loop at a time together.
class ThreadPool {
 public:
  /// Starts up to `size - 1` workers; fewer if the system gives no more.
  static std::shared_ptr<ThreadPool> start(int size);

  /// Whether the calling thread is running a piece of some pool's loop.
  static bool is_inside_loop();

  explicit ThreadPool(int size);

  int size() const { return size_; }

  /// Runs every piece of `loop`; the caller works too. The exception of the
  /// lowest piece that threw reaches the caller.
  void run(const ParallelLoop& loop);

  /// Lets the workers end.
  void dismiss();

 private:
  // Pieces [next, end) of one member: the same ones in every loop of the same
  // size, so that they are found in that core's cache. On its own cache line.
  struct alignas(64) Range {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  int64_t cut(int64_t pieces, int member) const;
  void work(int member);
  void run_piece(int64_t piece);
  void serve(int member);

  const int size_;
  const int spins_;
  const std::unique_ptr<Range[]> ranges_;
  const ParallelLoop* loop_ = nullptr;
  alignas(64) std::atomic<unsigned> round_{0};
  std::atomic<bool> open_{false};
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<int> busy_{0};
  std::atomic<int64_t> failed_piece_{0};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

}  // namespace heed
