#include "autograd/losses.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "autograd/softmax.h"
#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/random.h"

using namespace heed;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("nll_loss: of log_softmax is cross_entropy") {
  Generator generator(1);
  const Tensor logits = randn({5, 7}, kFloat64, generator);
  const Tensor targets = tensor({3, -100, 0, 6, 2});
  for (const Reduction reduction :
       {Reduction::mean, Reduction::sum, Reduction::none}) {
    const Variable a(logits, true);
    const Variable b(logits, true);
    const Variable loss =
        nll_loss(log_softmax(a, -1), targets, {.reduction = reduction});
    const Variable expected =
        cross_entropy(b, targets, {.reduction = reduction});
    CHECK(allclose(loss.value(), expected.value(), 1e-12));
    const Tensor dy = randn(loss.shape(), kFloat64, generator);
    loss.backward(dy);
    expected.backward(dy);
    CHECK(allclose(a.grad().value(), b.grad().value(), 1e-10, 1e-12));
  }
}

TEST_CASE(
    "nll_loss: -inf of another class plays no part; nothing counted is "
    "0") {
  const Variable x(tensor({{-1.f, -kInfinity}, {-kInfinity, -2.f}}), true);
  const Variable loss = nll_loss(x, tensor({0, -100}));
  CHECK(loss.item<float>() == 1);
  loss.backward();
  CHECK(equal(x.grad().value(), tensor({{-1.0, 0.0}, {0.0, 0.0}})));
  CHECK(nll_loss(x, tensor({-100, -100})).item<float>() == 0);
  CHECK_THROWS_WITH_AS(
      nll_loss(x, tensor({0, 2})),
      "nll_loss: targets must be in [0, 2) or the ignored -100, got 2 at "
      "position 1",
      std::invalid_argument);
}

TEST_CASE("mse_loss: value and gradients of both sides") {
  const Variable x(tensor({1.0, 2.0, 4.0}), true);
  const Variable target(tensor({0.0, 2.0, 1.0}), true);
  const Variable loss = mse_loss(x, target);
  CHECK(loss.item<float>() == doctest::Approx(10.0 / 3));
  loss.backward();
  CHECK(allclose(x.grad().value(), tensor({2.0 / 3, 0.0, 2.0})));
  CHECK(allclose(target.grad().value(), tensor({-2.0 / 3, 0.0, -2.0})));
  CHECK(mse_loss(x, target, Reduction::sum).item<float>() == 10);
  CHECK(equal(
      mse_loss(x, target, Reduction::none).value(), tensor({1.0, 0.0, 9.0})));
  CHECK_THROWS_WITH_AS(
      mse_loss(x, tensor({{1.0}, {2.0}, {3.0}})),
      "mse_loss: x and target must have one shape, got [3] and [3, 1]",
      std::invalid_argument);
}

TEST_CASE(
    "bce_with_logits: value, and the gradient sigmoid - target at 0 too") {
  const Variable x(tensor({0.0, 2.0, -3.0}), true);
  const Tensor t = tensor({1.0, 0.0, 0.25});
  const Variable losses = bce_with_logits(x, t, {.reduction = Reduction::none});
  CHECK(allclose(
      losses.value(),
      tensor(
          {std::log(2.0),
           2 + std::log1p(std::exp(-2.0)),
           0.75 * -3 + std::log1p(std::exp(3.0))})));
  losses.backward(tensor({1.0, -2.0, 3.0}));
  CHECK(allclose(
      x.grad().value(),
      tensor(
          {-0.5,
           -2 / (1 + std::exp(-2.0)),
           3 * (1 / (1 + std::exp(3.0)) - 0.25)})));
}

TEST_CASE(
    "bce_with_logits: huge logits are finite, pos_weight weighs "
    "positives") {
  const Variable x(tensor({1000.0, -1000.0}), true);
  const Variable loss = bce_with_logits(x, tensor({0.0, 1.0}));
  CHECK(loss.item<float>() == 1000);
  loss.backward();
  CHECK(equal(x.grad().value(), tensor({0.5, -0.5})));
  CHECK(
      bce_with_logits(
          tensor({-1000.0, 1000.0}),
          tensor({1.0, 0.0}),
          {.pos_weight = tensor(3.0), .reduction = Reduction::sum})
          .item<float>() == 4000);
  CHECK_THROWS_AS(bce_with_logits(x, tensor({1.0})), std::invalid_argument);
  CHECK_THROWS_AS(bce_with_logits(x, tensor({1, 0})), std::invalid_argument);
  CHECK_THROWS_AS(
      bce_with_logits(x, tensor({1.0, 0.0}), {.pos_weight = ones({3})}),
      std::invalid_argument);
}
