#include <heed/heed.h>

#include "bench/figures.h"
#include "bench/measurements.h"

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
  report_scaling(workload, step, settings, report);
}

}  // namespace bench
