#include "optim/schedule.h"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "optim/sgd.h"
#include "tests/parity/parity.h"

using namespace heed;

namespace {

Schedule make(const std::string& name, const nlohmann::json& o) {
  const double lr = o.value("lr", 0.0);
  if (name == "constant") {
    return Schedule::constant(lr);
  }
  if (name == "step") {
    return Schedule::step(lr, o.at("step_size"), o.at("gamma"));
  }
  if (name.starts_with("cosine")) {
    return Schedule::cosine(lr, o.value("eta_min", 0.0), o.at("T_max"));
  }
  if (name.starts_with("linear")) {
    return Schedule::linear(
        lr * o.at("start_factor").get<double>(),
        lr * o.at("end_factor").get<double>(),
        o.at("total_iters"));
  }
  return Schedule::noam(o.at("d_model"), o.at("warmup_steps"), o.at("factor"));
}

/// One of each kind with a warm-up of `w` updates to a rate of 1.
std::vector<Schedule> all(int64_t w) {
  return {
      Schedule::constant(1, {.warmup_steps = w}),
      Schedule::step(1, 3, 0.5, {.warmup_steps = w}),
      Schedule::linear(1, 0, 100, {.warmup_steps = w}),
      Schedule::cosine(1, 0, 100, {.warmup_steps = w}),
      Schedule::inverse_sqrt(1, w),
      Schedule::noam(1, w, std::sqrt(static_cast<double>(w))),
  };
}

}  // namespace

TEST_CASE("Schedule: PyTorch's rates") {
  for (const ParityCase& c : Parity::load("schedules")) {
    const Schedule schedule = make(c.name(), c.options());
    Tensor rates(c["lr"].shape(), kFloat64);
    for (int64_t i = 0; i < rates.numel(); ++i) {
      const int64_t step = c.has("step") ? c["step"][i].item<int64_t>() : i + 1;
      rates[i].fill_(schedule.lr(step));
    }
    c.check("lr", rates);
  }
}

TEST_CASE("Schedule: the paper's rates at the steps where they are used") {
  const Schedule schedule = Schedule::noam(512, 4000);
  const std::vector<std::pair<int64_t, double>> expected = {
      {1, 1.746928e-7},
      {2, 3.493856e-7},
      {4000, 6.987712e-4},
      {4001, 6.986839e-4},
      {8000, 4.941059e-4}};
  for (const auto& [step, lr] : expected) {
    CHECK(schedule.lr(step) == doctest::Approx(lr).epsilon(1e-6));
    CHECK(schedule(step) == schedule.lr(step));
  }
}

TEST_CASE("Schedule: making one, asking one or resuming changes no rate") {
  const Variable w(Tensor(Shape{}, kFloat64).fill_(0), true);
  SGD optimizer({w});
  const Schedule schedule = Schedule::noam(512, 4000);
  const auto step = [&](SGD& o, const Schedule& s) {
    w.set_grad(Tensor(Shape{}, kFloat64).fill_(1));
    o.set_lr(s.lr(o.steps() + 1));
    o.step();
  };
  for (int i = 0; i < 10; ++i) {
    step(optimizer, schedule);
  }
  const StateDict saved = optimizer.state_dict();
  step(optimizer, schedule);

  SGD resumed({w});
  resumed.load_state_dict(saved);
  Schedule::noam(512, 4000).lr(77);
  const Schedule again = Schedule::noam(512, 4000);
  CHECK(again.lr(10) == schedule.lr(10));
  step(resumed, again);
  CHECK(resumed.lr() == optimizer.lr());
  CHECK(resumed.lr() == schedule.lr(11));
}

TEST_CASE("Schedule: the warm-up starts above 0 and grows evenly to the peak") {
  for (const int64_t warmup : {2, 10}) {
    for (const Schedule& schedule : all(warmup)) {
      CHECK(schedule.lr(1) > 0);
      CHECK(schedule.lr(2) == doctest::Approx(2 * schedule.lr(1)));
      CHECK(schedule.lr(warmup) == doctest::Approx(1));
      CHECK(schedule.lr(warmup - 1) < schedule.lr(warmup));
      CHECK(schedule.lr(warmup + 1) <= schedule.lr(warmup));
    }
  }
}

TEST_CASE("Schedule: a warm-up of 0 or 1 is none, all rates are finite") {
  const std::vector<Schedule> none = all(0);
  const std::vector<Schedule> one = all(1);
  for (size_t i = 0; i < none.size(); ++i) {
    const bool is_noam = i + 1 == none.size();  // its factor is 0 and 1
    CHECK(none[i].lr(1) == (is_noam ? 0 : 1));
    CHECK(one[i].lr(1) == 1);
    for (int64_t step = 1; step < 300; ++step) {
      CHECK(std::isfinite(none[i].lr(step)));
      CHECK((is_noam || none[i].lr(step) == one[i].lr(step)));
    }
  }
  CHECK(Schedule::noam(1, 0).lr(4) == 0.5);
  CHECK(Schedule::inverse_sqrt(1, 0).lr(4) == 0.5);
}

TEST_CASE("Schedule: linear and cosine reach the end and stay there") {
  for (const Schedule& schedule :
       {Schedule::linear(1, 0.25, 20, {.warmup_steps = 5}),
        Schedule::cosine(1, 0.25, 20, {.warmup_steps = 5})}) {
    CHECK(schedule.lr(13) == doctest::Approx(0.625));  // halfway from 5 to 21
    CHECK(schedule.lr(20) > 0.25);
    CHECK(schedule.lr(21) == 0.25);
    CHECK(schedule.lr(int64_t{1} << 60) == 0.25);
  }
  const Schedule all_warmup = Schedule::linear(1, 0, 5, {.warmup_steps = 5});
  CHECK(all_warmup.lr(5) == 1);
  CHECK(all_warmup.lr(6) == 0);
}

TEST_CASE("Schedule: step 0 and bad arguments are refused") {
  for (const Schedule& schedule : all(4)) {
    CHECK_THROWS_WITH_AS(
        schedule.lr(0),
        "Schedule: step must be >= 1, the first update, got 0",
        std::invalid_argument);
    CHECK_THROWS_AS(schedule.lr(-3), std::invalid_argument);
  }
  CHECK_THROWS_WITH_AS(
      Schedule::noam(0, 10),
      "Schedule::noam: d_model must be >= 1, got 0",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      Schedule::inverse_sqrt(1, -1),
      "Schedule::inverse_sqrt: warmup_steps must be >= 0, got -1",
      std::invalid_argument);
  CHECK_THROWS_AS(Schedule::noam(8, 10, NAN), std::invalid_argument);
  CHECK_THROWS_AS(Schedule::constant(-1), std::invalid_argument);
  CHECK_THROWS_AS(Schedule::step(1, 0, 0.5), std::invalid_argument);
  CHECK_THROWS_AS(Schedule::step(1, 1, -0.5), std::invalid_argument);
  CHECK_THROWS_AS(Schedule::linear(1, 0, 0), std::invalid_argument);
  CHECK_THROWS_AS(
      Schedule::cosine(1, 0, 4, {.warmup_steps = 5}), std::invalid_argument);
  CHECK_THROWS_AS(Schedule(nullptr), std::invalid_argument);
}

TEST_CASE("Schedule: any function of the step") {
  const Schedule schedule([](int64_t step) { return 1.0 / step; });
  CHECK(schedule.lr(4) == 0.25);
}
