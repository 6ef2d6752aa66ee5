#pragma once

#include <cstdint>

namespace heed {

/// Threads heed may use, >= 1.
///
/// Until it is set: OMP_NUM_THREADS, else the cores this process may run on
/// (see available_cores). Results do not depend on it, bit for bit.
int num_threads();

/// Sets num_threads, for all threads of the program. Throws
/// std::invalid_argument unless 1 <= n <= 1024.
void set_num_threads(int n);

/// Items a piece should hold when one costs about `cost_per_item` simple
/// operations: about 32,000 operations a piece, so that sharing pieces out
/// among threads costs little beside the work. At least 1.
int64_t grain_for(int64_t cost_per_item);

namespace detail {
using Piece = void (*)(const void* f, int64_t begin, int64_t end);
void run_pieces(int64_t n, int64_t grain, Piece piece, const void* f);
}  // namespace detail

/// Calls f(begin, end) for the pieces [0, grain), [grain, 2 grain), ... of
/// [0, n), in any order and shared out among num_threads() threads.
///
/// The pieces depend on n and grain alone, never on the number of threads: a
/// reduction that keeps one partial result a piece (at begin / grain) and adds
/// them up in order gives the same bits for any number of threads. n <= grain
/// is one call in the caller's thread. A call from inside another parallel_for,
/// or while another thread of the program is running one, runs its pieces one
/// after the other in the caller's thread.
///
/// A forked child may call it. One that is forked inside a piece must end
/// there: the threads that run the other pieces are not in it.
///
/// The exception of the lowest piece that threw reaches the caller; of the
/// pieces above it some may not have run. Throws std::invalid_argument unless
/// grain >= 1.
template <typename F>
void parallel_for(int64_t n, int64_t grain, const F& f) {
  if (n > 0 && n <= grain) {
    f(int64_t{0}, n);
    return;
  }
  detail::run_pieces(
      n,
      grain,
      [](const void* g, int64_t begin, int64_t end) {
        (*static_cast<const F*>(g))(begin, end);
      },
      &f);
}

}  // namespace heed
