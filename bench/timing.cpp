#include "bench/timing.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

namespace bench {

Timing time_calls(
    const std::function<void()>& f, const TimingOptions& options) {
  double start = now_ms();
  for (int i = 0; i < options.warmup && now_ms() - start <= options.max_ms;
       ++i) {
    f();
  }
  std::vector<double> times;
  start = now_ms();
  double passed = 0;
  const auto is_done = [&] {
    const auto reps = static_cast<int>(times.size());
    return (reps >= options.min_reps && passed >= options.min_ms) ||
           (reps >= 3 && passed >= options.max_ms);
  };
  while (!is_done()) {
    const double begin = now_ms();
    f();
    const double end = now_ms();
    times.push_back(end - begin);
    passed = end - start;
  }
  std::sort(times.begin(), times.end());
  return {
      times[times.size() / 2],
      times.front(),
      times[times.size() * 9 / 10],
      static_cast<int64_t>(times.size())};
}

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double since_start_ms() {
  const char* start = std::getenv("BENCH_T0_NS");
  if (start == nullptr) {
    return -1;
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count() -
         std::strtod(start, nullptr) / 1e6;
}

}  // namespace bench
