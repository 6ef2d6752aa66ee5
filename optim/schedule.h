#pragma once

#include <cstdint>
#include <functional>

namespace heed {

/// What linear(), cosine(), step() and constant() take besides.
struct WarmupOptions {
  /// Updates over which the rate grows evenly: lr * step / warmup_steps. The
  /// last of them is the first at the full rate; 0 and 1 are no warm-up.
  int64_t warmup_steps = 0;
};

/// A learning rate as a function of the step. Steps count optimizer updates and
/// the first is 1; nothing is remembered, so the rate of a step is the same in
/// a run that was resumed.
///
///     const Schedule schedule = Schedule::noam(512, 4000);
///     ...
///     optimizer.set_lr(schedule.lr(optimizer.steps() + 1));
///     optimizer.step();
///
/// In the formulas, W = max(warmup_steps, 1) and t = step - W, for step >= W:
/// t = 0 is the first update at the full rate. Durations are counted from the
/// first update of the run, the warm-up included. All functions throw
/// std::invalid_argument for a rate or factor that is negative or not finite,
/// and for a number of steps out of range.
class Schedule {
 public:
  /// Any function of the step.
  explicit Schedule(std::function<double(int64_t step)> lr);

  /// The schedule of the Transformer (Vaswani et al. 2017, section 5.3):
  ///
  ///     factor * d_model^-0.5 * min(step^-0.5, step * W^-1.5)
  static Schedule noam(
      int64_t d_model, int64_t warmup_steps, double factor = 1);
  /// The same with its highest rate given: lr * min(step / W, (W / step)^0.5).
  static Schedule inverse_sqrt(double lr, int64_t warmup_steps);
  /// A line from `first` (t = 0) to `last`, which holds once total_steps
  /// updates are done. total_steps >= W.
  static Schedule linear(
      double first,
      double last,
      int64_t total_steps,
      WarmupOptions options = {});
  /// Half a cosine from `first` to `last`, otherwise as linear() (Loshchilov &
  /// Hutter 2017, arXiv:1608.03983).
  static Schedule cosine(
      double first,
      double last,
      int64_t total_steps,
      WarmupOptions options = {});
  /// lr * gamma^floor(t / step_size)
  static Schedule step(
      double lr, int64_t step_size, double gamma, WarmupOptions options = {});
  /// lr, once warmed up.
  static Schedule constant(double lr, WarmupOptions options = {});

  /// The rate of update `step`.
  /// Throws std::invalid_argument unless step >= 1.
  double lr(int64_t step) const;
  double operator()(int64_t step) const { return lr(step); }

 private:
  std::function<double(int64_t)> lr_;
};

}  // namespace heed
