#include <vector>

#include "bench/figures.h"
#include "bench/libtorch/lean_layer.h"
#include "bench/libtorch/seq2seq_model.h"
#include "bench/measurements.h"

namespace bench {

void measure_scaling(
    const ScalingWorkload& workload,
    const Settings& settings,
    const Report& report) {
  torch::manual_seed(1);
  const bool is_lean = settings.impl == "lean";
  const int64_t d_model = workload.d_model;
  const Tensor mask = causal_mask(workload.length);
  torch::nn::TransformerEncoderLayer stock(
      torch::nn::TransformerEncoderLayerOptions(d_model, workload.num_heads())
          .dim_feedforward(workload.d_ff())
          .dropout(0));
  LeanLayer lean(LeanLayerOptions{
      .d_model = d_model,
      .num_heads = workload.num_heads(),
      .d_ff = workload.d_ff(),
      .dropout = 0,
      .is_decoder = false});
  const std::vector<int64_t> shape =
      is_lean ? std::vector{workload.batch, workload.length, d_model}
              : std::vector{workload.length, workload.batch, d_model};
  Tensor x = torch::randn(shape).set_requires_grad(true);
  const Tensor dy = torch::randn(shape);
  auto parameters = is_lean ? lean->parameters() : stock->parameters();
  const auto step = [&] {
    for (Tensor& parameter : parameters) {
      parameter.mutable_grad() = Tensor();
    }
    x.mutable_grad() = Tensor();
    const Tensor y =
        is_lean ? lean->forward(x, mask.unsqueeze(0)) : stock->forward(x, mask);
    y.backward(dy);
  };
  report_scaling(workload, step, settings, report);
}

}  // namespace bench
