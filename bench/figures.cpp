#include "bench/figures.h"

#include <algorithm>

#include "bench/timing.h"

namespace bench {
namespace {

Timing time_decoding(const Call& decode, const Settings& settings) {
  return time_calls(
      decode,
      {.warmup = 2,
       .min_reps = 5,
       .min_ms = settings.min_ms / 2,
       .max_ms = settings.max_ms});
}

}  // namespace

void report_op(
    const OpWorkload& op,
    const Call& call,
    const Settings& settings,
    const Report& report) {
  const Timing timing = time_calls(
      call,
      {.warmup = 3,
       .min_reps = 10,
       .min_ms = std::min(settings.min_ms, 1500.0),
       .max_ms = settings.max_ms});
  Json more = Json::object();
  if (op.flops > 0) {
    more["gflops"] = op.flops / timing.median_ms / 1e6;
  }
  if (op.bytes > 0) {
    more["gb_per_s"] = op.bytes / timing.median_ms / 1e6;
  }
  report.print("ops:" + op.name, "ops", timing, 0, more);
}

void report_chain(
    const std::string& name,
    const Call& chain,
    const Settings& settings,
    const Report& report) {
  const Timing timing = time_calls(
      chain,
      {.warmup = 20,
       .min_reps = 100,
       .min_ms = std::min(settings.min_ms, 1000.0),
       .max_ms = settings.max_ms});
  report.print(
      "overhead:chain1000_" + name,
      "ops",
      timing,
      0,
      {{"ns_per_op", timing.median_ms * 1e6 / kChainLength}});
}

void report_mlp(
    const std::string& optimizer,
    int64_t batch,
    const Call& step,
    const Settings& settings,
    const Report& report) {
  const Timing timing = time_calls(
      step,
      {.warmup = 50,
       .min_reps = 200,
       .min_ms = std::min(settings.min_ms, 1000.0),
       .max_ms = settings.max_ms});
  report.print(
      "overhead:mlp_10_16_1_" + optimizer + "_b" + std::to_string(batch),
      "nn",
      timing,
      static_cast<double>(batch),
      {{"us_per_step", timing.median_ms * 1e3}});
}

void report_decoding(
    const std::string& impl,
    int64_t batch,
    const Call& decode,
    const Settings& settings,
    const Report& report) {
  report.print(
      "decode" + std::to_string(batch),
      impl,
      time_decoding(decode, settings),
      static_cast<double>(batch * kDecodingSteps));
}

void report_search(
    const SearchWorkload& workload,
    const std::string& impl,
    const Call& decode,
    const Settings& settings,
    const Report& report) {
  report.print(
      workload.name(),
      impl,
      time_decoding(decode, settings),
      static_cast<double>(workload.model.batch * kDecodingSteps));
}

void report_scaling(
    const ScalingWorkload& workload,
    const Call& step,
    const Settings& settings,
    const Report& report) {
  const Timing timing = time_calls(
      step,
      {.warmup = 1,
       .min_reps = 5,
       .min_ms = settings.min_ms,
       .max_ms = settings.max_ms});
  report.print(
      workload.name(),
      settings.impl,
      timing,
      static_cast<double>(workload.batch * workload.length));
}

}  // namespace bench
