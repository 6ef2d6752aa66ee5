#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>
#include <utility>

#include "tensor/error.h"

namespace heed {
namespace {

void check_rate(std::string_view who, std::string_view name, double rate) {
  if (!(std::isfinite(rate) && rate >= 0)) {
    fail(who, name, " must be finite and >= 0, got ", rate);
  }
}

void check_steps(
    std::string_view who, std::string_view name, int64_t steps, int64_t least) {
  if (steps < least) {
    fail(who, name, " must be >= ", least, ", got ", steps);
  }
}

/// W of the header.
int64_t first_full_step(std::string_view who, int64_t warmup_steps) {
  check_steps(who, "warmup_steps", warmup_steps, 0);
  return std::max<int64_t>(warmup_steps, 1);
}

/// Growth to decay(0), then decay(t).
template <typename Decay>
Schedule warmed_up(int64_t full, const Decay& decay) {
  return Schedule([full, decay](int64_t step) {
    return step < full ? decay(0) * (static_cast<double>(step) / full)
                       : decay(step - full);
  });
}

/// From `first` to `last` by `shape`, which falls from 1 to 0 over [0, 1].
template <typename Shape>
Schedule falling(
    std::string_view who,
    double first,
    double last,
    int64_t total_steps,
    WarmupOptions options,
    const Shape& shape) {
  check_rate(who, "first", first);
  check_rate(who, "last", last);
  const int64_t full = first_full_step(who, options.warmup_steps);
  check_steps(who, "total_steps", total_steps, full);
  const int64_t duration = total_steps - full + 1;
  return warmed_up(full, [=](int64_t t) {
    return t >= duration ? last
                         : last + (first - last) *
                                      shape(static_cast<double>(t) / duration);
  });
}

}  // namespace

Schedule::Schedule(std::function<double(int64_t)> lr) : lr_(std::move(lr)) {
  if (!lr_) {
    fail("Schedule", "lr must be a function, got an empty one");
  }
}

double Schedule::lr(int64_t step) const {
  if (step < 1) {
    fail("Schedule", "step must be >= 1, the first update, got ", step);
  }
  return lr_(step);
}

Schedule Schedule::noam(int64_t d_model, int64_t warmup_steps, double factor) {
  const char* const who = "Schedule::noam";
  check_steps(who, "d_model", d_model, 1);
  check_rate(who, "factor", factor);
  const double warmup = static_cast<double>(first_full_step(who, warmup_steps));
  const double scale = factor / std::sqrt(static_cast<double>(d_model));
  return Schedule([=](int64_t step) {
    const double s = static_cast<double>(step);
    return scale * std::min(1 / std::sqrt(s), s / (warmup * std::sqrt(warmup)));
  });
}

Schedule Schedule::inverse_sqrt(double lr, int64_t warmup_steps) {
  const char* const who = "Schedule::inverse_sqrt";
  check_rate(who, "lr", lr);
  const double warmup = static_cast<double>(first_full_step(who, warmup_steps));
  return Schedule([=](int64_t step) {
    const double s = static_cast<double>(step);
    return lr * std::min(s / warmup, std::sqrt(warmup / s));
  });
}

Schedule Schedule::linear(
    double first, double last, int64_t total_steps, WarmupOptions options) {
  return falling(
      "Schedule::linear", first, last, total_steps, options, [](double x) {
        return 1 - x;
      });
}

Schedule Schedule::cosine(
    double first, double last, int64_t total_steps, WarmupOptions options) {
  return falling(
      "Schedule::cosine", first, last, total_steps, options, [](double x) {
        return (1 + std::cos(std::numbers::pi * x)) / 2;
      });
}

Schedule Schedule::step(
    double lr, int64_t step_size, double gamma, WarmupOptions options) {
  const char* const who = "Schedule::step";
  check_rate(who, "lr", lr);
  check_steps(who, "step_size", step_size, 1);
  check_rate(who, "gamma", gamma);
  return warmed_up(first_full_step(who, options.warmup_steps), [=](int64_t t) {
    return lr * std::pow(gamma, static_cast<double>(t / step_size));
  });
}

Schedule Schedule::constant(double lr, WarmupOptions options) {
  check_rate("Schedule::constant", "lr", lr);
  return warmed_up(
      first_full_step("Schedule::constant", options.warmup_steps),
      [lr](int64_t) { return lr; });
}

}  // namespace heed
