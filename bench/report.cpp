#include "bench/report.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <utility>

namespace bench {
namespace {

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

/// To six digits, so that lines can be read.
double rounded(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", x);
  return std::strtod(text, nullptr);
}

}  // namespace

Report::Report(std::string peer, int threads)
    : peer_(std::move(peer)), threads_(threads), base_rss_mb_(resident_mb()) {}

void Report::print(
    const std::string& workload,
    const std::string& impl,
    const Json& figures) const {
  Json record = {
      {"peer", peer_},
      {"workload", workload},
      {"impl", impl},
      {"threads", threads_},
      {"config", environment("BENCH_CONFIG", "unnamed")},
      {"openblas_coretype", environment("OPENBLAS_CORETYPE", "unset")},
      {"other_cpu_pct", noise_.other_cpu_percent()},
      {"steal_pct", noise_.steal_percent()}};
  record.update(figures);
  record["peak_rss_mb"] = peak_resident_mb();
  record["base_rss_mb"] = base_rss_mb_;
  for (auto& value : record) {
    if (value.is_number_float()) {
      value = rounded(value);
    }
  }
  std::cout << record.dump() << std::endl;
}

void Report::print(
    const std::string& workload,
    const std::string& impl,
    const Timing& timing,
    double tokens,
    const Json& more) const {
  Json figures = {
      {"median_ms", timing.median_ms},
      {"min_ms", timing.min_ms},
      {"p90_ms", timing.p90_ms},
      {"reps", timing.reps},
      {"tokens_per_s", tokens / timing.median_ms * 1000}};
  figures.update(more);
  print(workload, impl, figures);
}

}  // namespace bench
