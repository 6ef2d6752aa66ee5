#include <heed/heed.h>

#include "bench/measurements.h"
#include "bench/timing.h"

namespace bench {

void measure_startup(const Report& report) {
  const heed::Tensor two = heed::ones({1}) + heed::ones({1});
  const double first_op = since_start_ms();
  const heed::Variable w(heed::randn({64, 64}), true);
  heed::sum(heed::matmul(w, w)).backward();
  const double first_backward = since_start_ms();
  report.print(
      "startup",
      "ops",
      {{"first_op_ms", first_op},
       {"first_backward_ms", first_backward},
       {"check", two.item<double>()}});
}

}  // namespace bench
