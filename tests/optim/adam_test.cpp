#include "optim/adam.h"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "tests/optim/trajectory.h"

using namespace heed;

namespace {

Tensor number(double value, DType dtype = kFloat64) {
  return Tensor(Shape{}, dtype).fill_(value);
}

template <typename Options>
Options options_of(const nlohmann::json& o) {
  Options options;
  options.lr = o.at("lr");
  options.weight_decay = o.value("weight_decay", options.weight_decay);
  options.amsgrad = o.value("amsgrad", false);
  options.eps = o.value("eps", options.eps);
  if (o.contains("betas")) {
    options.betas = {o.at("betas").at(0), o.at("betas").at(1)};
  }
  return options;
}

void step(Optimizer& optimizer, double gradient) {
  const Variable& w = optimizer.parameters()[0];
  w.set_grad(number(gradient, w.dtype()));
  optimizer.step();
}

}  // namespace

TEST_CASE("Adam: PyTorch's trajectories") {
  check_trajectories("adam", [](auto parameters, const nlohmann::json& o) {
    return std::make_unique<Adam>(parameters, options_of<AdamOptions>(o));
  });
}

TEST_CASE("AdamW: PyTorch's trajectories") {
  check_trajectories("adamw", [](auto parameters, const nlohmann::json& o) {
    return std::make_unique<AdamW>(parameters, options_of<AdamWOptions>(o));
  });
}

TEST_CASE("Adam: eps is added after the bias correction") {
  for (const DType dtype : {kFloat32, kFloat64}) {
    const Variable w(number(0, dtype), true);
    Adam optimizer({w}, {.lr = 0.1});
    step(optimizer, 1e-8);
    CHECK(w.item<double>() == doctest::Approx(-0.05).epsilon(1e-6));
  }
}

TEST_CASE("Adam: moments are bias corrected, and stored as they were") {
  for (const DType dtype : {kFloat32, kFloat64}) {
    const Variable w(number(1, dtype), true);
    Adam optimizer({w}, {.lr = 0.1});
    const double expected[] = {0.9, 0.905263, 0.887791};
    const double gradients[] = {1, -1, 0.5};
    for (int i = 0; i < 3; ++i) {
      step(optimizer, gradients[i]);
      CHECK(std::abs(w.item<double>() - expected[i]) < 1e-6);
    }
    const Variable v(number(1, dtype), true);
    Adam same({v});
    step(same, 1);
    step(same, 1);
    const StateDict state = same.state_dict();
    CHECK(
        state.at("0.exp_avg").item<double>() ==
        doctest::Approx(0.19).epsilon(1e-6));
    CHECK(
        state.at("0.exp_avg_sq").item<double>() ==
        doctest::Approx(0.001999).epsilon(1e-4));
  }
}

TEST_CASE("Adam: the first update after loading counts on") {
  const Variable w(number(1), true);
  Adam optimizer({w}, {.lr = 0.1});
  step(optimizer, 1);
  step(optimizer, -1);
  const StateDict saved = optimizer.state_dict();
  const Variable copy(w.value().clone(), true);
  step(optimizer, 0.5);

  Adam resumed({copy}, {.lr = 0.1});
  resumed.load_state_dict(saved);
  step(resumed, 0.5);
  CHECK(std::abs(copy.item<double>() - 0.887791) < 1e-6);
  CHECK(copy.item<double>() == w.item<double>());
}

TEST_CASE("Adam: zero gradients leave the weights as they are") {
  const Variable w(number(0.75, kFloat32), true);
  Adam optimizer({w});
  step(optimizer, 0);
  CHECK(w.item<double>() == 0.75);
}

TEST_CASE("AdamW: a row of zeros without gradient stays zero, others shrink") {
  Tensor table = Tensor({3, 4}, kFloat32).fill_(2);
  table[0].fill_(0);
  const Variable weight(table, true);
  AdamW optimizer({weight}, {.lr = 0.1, .weight_decay = 0.5});
  weight.set_grad(Tensor({3, 4}, kFloat32).fill_(0));
  optimizer.step();
  CHECK(table[0].to_vector<double>() == std::vector<double>(4, 0));
  CHECK(table[1].to_vector<float>() == std::vector<float>(4, 0.95f * 2));
}

TEST_CASE("Adam: without decay an infinite weight has no say in the gradient") {
  const Variable w(number(INFINITY), true);
  Adam optimizer({w});
  step(optimizer, 1);
  CHECK(w.item<double>() == INFINITY);
  CHECK(
      optimizer.state_dict().at("0.exp_avg").item<double>() ==
      doctest::Approx(0.1));
}

TEST_CASE("Adam: amsgrad remembers a NaN") {
  const Variable w(number(1), true);
  Adam optimizer({w}, {.amsgrad = true});
  step(optimizer, NAN);
  CHECK(
      std::isnan(optimizer.state_dict().at("0.max_exp_avg_sq").item<double>()));
}
