#include <torch/torch.h>

#include <string>

#include "bench/figures.h"
#include "bench/measurements.h"

namespace bench {
namespace {

using torch::Tensor;

void measure_chain(const Settings& settings, const Report& report) {
  Tensor x = torch::ones({1}).set_requires_grad(true);
  const Tensor c = torch::ones({1});
  const auto chain = [&](Tensor y) {
    for (int i = 0; i < kChainLength; ++i) {
      y = y + c;
    }
    return y;
  };
  const auto forward = [&] { chain(x); };
  const auto forward_backward = [&] {
    x.mutable_grad() = Tensor();
    chain(x).backward();
  };
  report_chain("fwd_bwd", forward_backward, settings, report);
  report_chain("fwd_recorded", forward, settings, report);
  const torch::NoGradGuard no_grad;
  report_chain("fwd_nograd", forward, settings, report);
}

void measure_mlp(
    int64_t batch, const Settings& settings, const Report& report) {
  torch::nn::Sequential net(
      torch::nn::Linear(10, 16), torch::nn::ReLU(), torch::nn::Linear(16, 1));
  const Tensor x = torch::randn({batch, 10});
  const Tensor target = torch::randn({batch, 1});
  const auto measure = [&](const std::string& name, auto& optimizer) {
    const auto step = [&] {
      const Tensor loss = at::mse_loss(net->forward(x), target);
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
    };
    report_mlp(name, batch, step, settings, report);
  };
  torch::optim::SGD sgd(net->parameters(), 0.01);
  measure("sgd", sgd);
  torch::optim::Adam adam(net->parameters(), 1e-3);
  measure("adam", adam);
}

}  // namespace

void measure_overhead(const Settings& settings, const Report& report) {
  torch::manual_seed(1);
  measure_chain(settings, report);
  measure_mlp(1, settings, report);
  measure_mlp(32, settings, report);
}

}  // namespace bench
