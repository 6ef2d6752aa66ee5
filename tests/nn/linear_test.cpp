#include "nn/linear.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/linear.h"
#include "tests/nn/parity_state.h"

using namespace heed;

TEST_CASE("Linear: outputs and gradients are PyTorch's") {
  for (const ParityCase& c : Parity::load("layers", "linear")) {
    for (const DType dtype : {kFloat32, kFloat64}) {
      const nlohmann::json& o = c.options();
      Linear layer(
          o.at("in_features"),
          o.at("out_features"),
          {.bias = o.at("bias"), .dtype = dtype});
      load_parity_state(layer, c, dtype);
      const Variable x = parity_input(c, "x", dtype);
      const Variable y = layer(x);
      y.backward(c.tensor("cotangent", dtype));
      c.check("output", y.value());
      c.check("grad.input.x", x.grad().value());
      check_parity_gradients(layer, c);
    }
  }
}

TEST_CASE("Linear: starts uniform in +-1/sqrt(in_features), bias too") {
  Generator generator(1);
  const Linear layer(100, 400, {.generator = generator});
  for (const Variable& parameter : {layer.weight(), layer.bias()}) {
    double largest = 0;
    double squares = 0;
    for (const double x : parameter.value().to_vector<double>()) {
      largest = std::max(largest, std::abs(x));
      squares += x * x;
    }
    CHECK(largest <= 0.1);
    CHECK(largest > 0.099);
    const auto n = static_cast<double>(parameter.numel());
    CHECK(
        std::sqrt(squares / n) ==
        doctest::Approx(0.1 / std::sqrt(3.0)).epsilon(0.1));
  }
}

TEST_CASE("Linear: a tied weight is the other's") {
  Linear a(3, 3);
  Linear b(3, 3);
  b.tie_weight(a.weight());
  CHECK(b.weight().node() == a.weight().node());
  CHECK(b.parameters()[0].node() == a.weight().node());
  const Tensor x = tensor({{1.0, -2.0, 0.5}});
  CHECK(equal((b(x).value()), linear(x, a.weight().value(), b.bias().value())));
  CHECK_THROWS_AS(Linear(3, 2).tie_weight(a.weight()), std::invalid_argument);
}

TEST_CASE("Linear: sizes and inputs that do not fit are errors") {
  CHECK_THROWS_WITH_AS(
      Linear(0, 2),
      "Linear: in_features and out_features must be positive, got 0 and 2",
      std::invalid_argument);
  CHECK_THROWS_AS(Linear(2, -1), std::invalid_argument);
  const Linear layer(3, 2);
  CHECK_THROWS_WITH_AS(
      layer(ones({4, 2})),
      "Linear: x must have shape [..., 3], got [4, 2]",
      std::invalid_argument);
  CHECK_THROWS_AS(layer(ones({})), std::invalid_argument);
  CHECK_THROWS_AS(layer(ones({4, 3}, kFloat64)), std::invalid_argument);
  CHECK_THROWS_AS(layer(ones({4, 3}, kInt64)), std::invalid_argument);
  CHECK_THROWS_AS(layer(Variable()), std::exception);
  CHECK_THROWS_AS(Linear(2, 2, {.dtype = kInt64}), std::invalid_argument);
}

TEST_CASE("Linear: no rows give no rows, and zero gradients") {
  const Linear layer(3, 2);
  const Variable y = layer(zeros({0, 5, 3}));
  CHECK(y.shape() == Shape({0, 5, 2}));
  y.backward(zeros({0, 5, 2}));
  CHECK(equal(layer.weight().grad().value(), zeros({2, 3})));
  CHECK(equal(layer.bias().grad().value(), zeros({2})));
}
