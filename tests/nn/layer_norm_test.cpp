#include "nn/layer_norm.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tests/nn/parity_state.h"

using namespace heed;

TEST_CASE("LayerNorm: outputs and gradients are PyTorch's") {
  for (const ParityCase& c : Parity::load("layers", "layer_norm")) {
    for (const DType dtype : {kFloat32, kFloat64}) {
      const nlohmann::json& o = c.options();
      LayerNorm layer(
          o.at("d_model").get<int64_t>(),
          {.eps = o.at("eps"), .affine = o.at("affine"), .dtype = dtype});
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

TEST_CASE("LayerNorm: scale and shift belong to the normalised positions") {
  LayerNorm layer(3, {.dtype = kFloat64});
  layer.load_state_dict(
      {{"weight", tensor({1, 2, 3}, kFloat64)},
       {"bias", tensor({10, 20, 30}, kFloat64)}});
  const Variable y = layer(tensor({{1, 2, 3}, {3, 2, 1}}, kFloat64));
  CHECK(allclose(
      y.value(),
      tensor({{8.77526, 20.0, 33.67421}, {11.22474, 20.0, 26.32579}}, kFloat64),
      0,
      1e-5));
  y.backward(ones({2, 3}, kFloat64));
  CHECK(layer.weight().grad().shape() == Shape({3}));
  CHECK(equal(layer.bias().grad().value(), full({3}, 2.0, kFloat64)));
}

TEST_CASE("LayerNorm: over several dimensions") {
  LayerNorm layer(Shape({3, 4}));
  CHECK(layer.weight().shape() == Shape({3, 4}));
  const Variable x(arange(0, 24, 1, kFloat32).reshape({2, 3, 4}), true);
  const Variable y = layer(x);
  LayerNorm flat(12);
  const Variable expected = flat(x.value().reshape({2, 12}));
  CHECK(equal(y.value().reshape({2, 12}), expected.value()));
  y.backward(ones({2, 3, 4}));
  CHECK(layer.weight().grad().shape() == Shape({3, 4}));
  CHECK(layer.bias().grad().shape() == Shape({3, 4}));
}

TEST_CASE("LayerNorm: a weight that would only broadcast is an error") {
  LayerNorm layer(3);
  CHECK_THROWS_AS(
      layer.load_state_dict({{"weight", ones({1})}, {"bias", ones({3})}}),
      std::invalid_argument);
}

TEST_CASE("LayerNorm: without bias or without any parameter") {
  CHECK(LayerNorm(4).parameters().size() == 2);
  const LayerNorm unbiased(4, {.bias = false});
  CHECK(unbiased.parameters().size() == 1);
  CHECK_FALSE(unbiased.bias().defined());
  const LayerNorm plain(4, {.affine = false});
  CHECK(plain.parameters().empty());
  const Tensor x = tensor({{1.0, 2.0, 4.0, 8.0}});
  CHECK(equal(plain(x).value(), unbiased(x).value()));
}

TEST_CASE("LayerNorm: sizes and inputs that do not fit are errors") {
  CHECK_THROWS_AS(LayerNorm(0), std::invalid_argument);
  CHECK_THROWS_AS(LayerNorm(-2), std::invalid_argument);
  CHECK_THROWS_AS(LayerNorm(Shape({})), std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      LayerNorm(2, {.eps = 0}),
      "LayerNorm: eps must be positive, got 0",
      std::invalid_argument);
  const LayerNorm layer(8);
  CHECK_THROWS_AS(layer(ones({2, 7})), std::invalid_argument);
  CHECK_THROWS_AS(layer(ones({2, 1})), std::invalid_argument);
  CHECK_THROWS_AS(layer(ones({})), std::invalid_argument);
  CHECK_THROWS_AS(layer(ones({2, 8}, kFloat64)), std::invalid_argument);
  CHECK(layer(ones({0, 8})).shape() == Shape({0, 8}));
}
