#include "bench/training_loop.h"

#include "bench/timing.h"

namespace bench {

void measure_training(
    const Training& training, const Settings& settings, const Report& report) {
  double loss_value = 0;
  double forward_ms = 0;
  double backward_ms = 0;
  double update_ms = 0;
  const auto step = [&] {
    const double start = now_ms();
    const heed::Variable loss = training.forward();
    loss_value = loss.item<double>();
    const double forwarded = now_ms();
    training.optimizer.zero_grad();
    loss.backward();
    const double backwarded = now_ms();
    training.optimizer.step();
    forward_ms += forwarded - start;
    backward_ms += backwarded - forwarded;
    update_ms += now_ms() - backwarded;
  };

  step();
  const double first_loss = loss_value;
  step();
  step();
  forward_ms = backward_ms = update_ms = 0;
  const Timing timing =
      time_calls(step, {.min_ms = settings.min_ms, .max_ms = settings.max_ms});
  const auto reps = static_cast<double>(timing.reps);
  report.print(
      training.workload,
      "nn",
      timing,
      training.tokens,
      {{"params", training.model.num_parameters()},
       {"first_loss", first_loss},
       {"last_loss", loss_value},
       {"fwd_ms", forward_ms / reps},
       {"bwd_ms", backward_ms / reps},
       {"opt_ms", update_ms / reps}});
}

}  // namespace bench
