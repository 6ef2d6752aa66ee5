#include <heed/heed.h>

#include "bench/measurements.h"
#include "bench/timing.h"

namespace bench {

void measure_scaling(
    const ScalingWorkload& workload,
    const Settings& settings,
    const Report& report) {
  heed::manual_seed(1);
  const heed::TransformerEncoderLayer layer(
      workload.d_model, workload.num_heads(), workload.d_ff(), {.dropout = 0});
  const heed::Shape shape{workload.batch, workload.length, workload.d_model};
  const heed::Variable x(heed::randn(shape), true);
  const heed::Tensor dy = heed::randn(shape);
  const auto step = [&] {
    layer.zero_grad();
    x.zero_grad();
    layer.forward(x, {.is_causal = true}).backward(dy);
  };
  const Timing timing = time_calls(
      step,
      {.warmup = 1,
       .min_reps = 5,
       .min_ms = settings.min_ms,
       .max_ms = settings.max_ms});
  report.print(
      workload.name(),
      "nn",
      timing,
      static_cast<double>(workload.batch * workload.length));
}

}  // namespace bench
