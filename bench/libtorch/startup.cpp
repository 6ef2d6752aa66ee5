#include <torch/torch.h>

#include "bench/measurements.h"
#include "bench/timing.h"

namespace bench {

void measure_startup(const Report& report) {
  const torch::Tensor two = torch::ones({1}) + torch::ones({1});
  const double first_op = since_start_ms();
  const auto w = torch::randn({64, 64}).set_requires_grad(true);
  at::mm(w, w).sum().backward();
  const double first_backward = since_start_ms();
  report.print(
      "startup",
      "ops",
      {{"first_op_ms", first_op},
       {"first_backward_ms", first_backward},
       {"check", two.item<double>()}});
}

}  // namespace bench
