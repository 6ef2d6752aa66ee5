#include "tensor/activation_dropout.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/random.h"

using namespace heed;

namespace {

constexpr auto kTanh = GeluApproximation::tanh;

Tensor noise(uint64_t seed) {
  Generator generator(seed);
  return randn({37, 53}, kFloat64, generator);
}

}  // namespace

TEST_CASE("activation_dropout: dropout of the activation, of the same draw") {
  const Tensor x = noise(1);
  const Tensor dy = noise(2);
  for (const double p : {0.0, 0.3, 1.0}) {
    CAPTURE(p);
    const DropoutDraw draw{p, {7, 3}};
    const auto dropped = [&](const Tensor& a) {
      return dropout(a, p, draw.start);
    };
    const Tensor y = relu_dropout(x, draw);
    CHECK(equal(y, dropped(relu(x))));
    CHECK(equal(gelu_dropout(x, kTanh, draw), dropped(gelu(x, kTanh))));
    if (p < 1) {
      CHECK(equal(
          relu_dropout_backward(dy, y, p),
          relu_backward(dropped(dy), relu(x))));
    }
    CHECK(allclose(
        gelu_dropout_backward(dy, x, kTanh, draw),
        gelu_backward(dropped(dy), x, kTanh),
        1e-14,
        1e-14));
  }
}

TEST_CASE("activation_dropout: NaN stays, unless it is dropped") {
  const DropoutDraw draw{0.5, {1, 0}};
  const Tensor x = full({64}, std::numeric_limits<float>::quiet_NaN());
  const Tensor kept = dropout(ones({64}), draw.p, draw.start);
  const std::vector<double> y = relu_dropout(x, draw).to_vector<double>();
  const std::vector<double> k = kept.to_vector<double>();
  for (size_t i = 0; i < y.size(); ++i) {
    CHECK(std::isnan(y[i]) == (k[i] != 0));
  }
}

TEST_CASE("activation_dropout: what does not fit is named") {
  CHECK_THROWS_WITH_AS(
      relu_dropout_backward(ones({2, 3}), ones({3, 2}), 0.1),
      "relu_dropout_backward: dy must have the shape of y, [3, 2], got [2, 3]",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      gelu_dropout(ones({2}), kTanh, {.p = 1.5}),
      "gelu_dropout: p must be in [0, 1], got 1.5",
      std::invalid_argument);
  CHECK_THROWS_AS(
      gelu_dropout_backward(ones({2}), ones({2}, kFloat64), kTanh, {.p = 0.5}),
      std::invalid_argument);
}
