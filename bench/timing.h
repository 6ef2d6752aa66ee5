#pragma once

#include <cstdint>
#include <functional>

namespace bench {

struct Timing {
  double median_ms = 0;
  double min_ms = 0;
  double p90_ms = 0;
  int64_t reps = 0;
};

struct TimingOptions {
  int warmup = 0;     // calls before the first that counts
  int min_reps = 10;  // calls, and
  double min_ms = 0;  // their time, that are wanted at least
  double max_ms = 0;  // but three calls are enough once so much has passed
};

/// How long a call of `f` takes.
Timing time_calls(const std::function<void()>& f, const TimingOptions& options);

/// Of a clock that never goes back.
double now_ms();

/// Since the wall-clock time in BENCH_T0_NS, in nanoseconds, which who starts
/// the program has noted; -1 without it.
double since_start_ms();

}  // namespace bench
