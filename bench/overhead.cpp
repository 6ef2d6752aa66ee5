#include <heed/heed.h>

#include <algorithm>
#include <string>

#include "bench/measurements.h"
#include "bench/timing.h"

// What an operation costs when there is next to nothing to compute.

namespace bench {
namespace {

using heed::Tensor;
using heed::Variable;

void measure_chain(const Settings& settings, const Report& report) {
  constexpr int kLength = 1000;
  const Variable x(heed::ones({1}), true);
  const Tensor c = heed::ones({1});
  const auto chain = [&](Variable y) {
    for (int i = 0; i < kLength; ++i) {
      y = y + c;
    }
    return y;
  };
  const auto measure = [&](const std::string& name, const auto& f) {
    const Timing timing = time_calls(
        f,
        {.warmup = 20,
         .min_reps = 100,
         .min_ms = std::min(settings.min_ms, 1000.0),
         .max_ms = settings.max_ms});
    report.print(
        "overhead:chain1000_" + name,
        "ops",
        timing,
        0,
        {{"ns_per_op", timing.median_ms * 1e6 / kLength}});
  };
  measure("fwd_bwd", [&] {
    x.zero_grad();
    chain(x).backward();
  });
  measure("fwd_recorded", [&] { chain(x); });
  const heed::NoGradGuard no_grad;
  measure("fwd_nograd", [&] { chain(x); });
}

void measure_mlp(
    int64_t batch, const Settings& settings, const Report& report) {
  heed::Sequential net;
  net.add<heed::Linear>(10, 16);
  net.add<heed::Activation>(heed::ActivationKind::relu);
  net.add<heed::Linear>(16, 1);
  const Tensor x = heed::randn({batch, 10});
  const Tensor target = heed::randn({batch, 1});
  const auto measure = [&](const std::string& name,
                           heed::Optimizer& optimizer) {
    const auto step = [&] {
      const Variable loss = heed::mse_loss(net(x), target);
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
    };
    const Timing timing = time_calls(
        step,
        {.warmup = 50,
         .min_reps = 200,
         .min_ms = std::min(settings.min_ms, 1000.0),
         .max_ms = settings.max_ms});
    report.print(
        "overhead:mlp_10_16_1_" + name + "_b" + std::to_string(batch),
        "nn",
        timing,
        static_cast<double>(batch),
        {{"us_per_step", timing.median_ms * 1e3}});
  };
  heed::SGD sgd(net.parameters(), {.lr = 0.01});
  measure("sgd", sgd);
  heed::Adam adam(net.parameters(), {.lr = 1e-3});
  measure("adam", adam);
}

}  // namespace

void measure_overhead(const Settings& settings, const Report& report) {
  heed::manual_seed(1);
  measure_chain(settings, report);
  measure_mlp(1, settings, report);
  measure_mlp(32, settings, report);
}

}  // namespace bench
