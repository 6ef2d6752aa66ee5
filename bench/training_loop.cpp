#include "bench/training_loop.h"

#include "bench/timing.h"

namespace bench {

void measure_training(
    const Training& training, const Settings& settings, const Report& report) {
  double loss = 0;
  double forward_ms = 0;
  double backward_ms = 0;
  double update_ms = 0;
  const auto step = [&] {
    const double start = now_ms();
    loss = training.forward();
    const double forwarded = now_ms();
    training.backward();
    const double backwarded = now_ms();
    training.update();
    forward_ms += forwarded - start;
    backward_ms += backwarded - forwarded;
    update_ms += now_ms() - backwarded;
  };

  step();
  const double first_loss = loss;
  step();
  step();
  forward_ms = backward_ms = update_ms = 0;
  const Timing timing =
      time_calls(step, {.min_ms = settings.min_ms, .max_ms = settings.max_ms});
  const auto reps = static_cast<double>(timing.reps);
  report.print(
      training.workload,
      training.impl,
      timing,
      training.tokens,
      {{"params", training.parameters},
       {"first_loss", first_loss},
       {"last_loss", loss},
       {"fwd_ms", forward_ms / reps},
       {"bwd_ms", backward_ms / reps},
       {"opt_ms", update_ms / reps}});
}

}  // namespace bench
