#include "optim/sgd.h"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "tests/optim/trajectory.h"

using namespace heed;

namespace {

Tensor number(double value, DType dtype = kFloat64) {
  return Tensor(Shape{}, dtype).fill_(value);
}

}  // namespace

TEST_CASE("SGD: PyTorch's trajectories") {
  check_trajectories("sgd", [](auto parameters, const nlohmann::json& o) {
    return std::make_unique<SGD>(
        parameters,
        SGDOptions{
            .lr = o.at("lr"),
            .momentum = o.value("momentum", 0.0),
            .dampening = o.value("dampening", 0.0),
            .weight_decay = o.value("weight_decay", 0.0),
            .nesterov = o.value("nesterov", false)});
  });
}

TEST_CASE("SGD: the rate is no part of the velocity") {
  for (const DType dtype : {kFloat32, kFloat64}) {
    const Variable w(number(0, dtype), true);
    SGD optimizer({w}, {.lr = 0.1, .momentum = 0.9});
    w.set_grad(number(1, dtype));
    optimizer.step();
    optimizer.set_lr(0.01);
    optimizer.step();
    CHECK(w.item<double>() == doctest::Approx(-0.119).epsilon(1e-6));
  }
}

TEST_CASE("SGD: Nesterov and weight decay when the rate changes") {
  const Variable w(number(1), true);
  SGD optimizer(
      {w}, {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.5, .nesterov = true});
  w.set_grad(number(1));
  optimizer.step();  // g = v = 1.5, w = 1 - 0.1 * (1.5 + 0.9 * 1.5)
  CHECK(w.item<double>() == doctest::Approx(0.715).epsilon(1e-14));
  optimizer.set_lr(0.01);
  optimizer.step();  // g = 1.3575, v = 2.7075, step g + 0.9 v = 3.79425
  CHECK(w.item<double>() == doctest::Approx(0.6770575).epsilon(1e-14));
}

TEST_CASE("SGD: without decay an infinite weight has no say in the gradient") {
  const Variable w(number(INFINITY), true);
  SGD optimizer({w}, {.momentum = 0.9});
  w.set_grad(number(1));
  optimizer.step();
  CHECK(w.item<double>() == INFINITY);
  CHECK(optimizer.state_dict().at("0.momentum_buffer").item<double>() == 1);
}
