#include <heed/heed.h>

#include <string>

#include "bench/figures.h"
#include "bench/measurements.h"

namespace bench {
namespace {

using heed::Tensor;
using heed::Variable;

void measure_chain(const Settings& settings, const Report& report) {
  const Variable x(heed::ones({1}), true);
  const Tensor c = heed::ones({1});
  const auto chain = [&](Variable y) {
    for (int i = 0; i < kChainLength; ++i) {
      y = y + c;
    }
    return y;
  };
  const auto forward = [&] { chain(x); };
  const auto forward_backward = [&] {
    x.zero_grad();
    chain(x).backward();
  };
  report_chain("fwd_bwd", forward_backward, settings, report);
  report_chain("fwd_recorded", forward, settings, report);
  const heed::NoGradGuard no_grad;
  report_chain("fwd_nograd", forward, settings, report);
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
    report_mlp(name, batch, step, settings, report);
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
