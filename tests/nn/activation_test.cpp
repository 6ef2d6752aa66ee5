#include "nn/activation.h"

#include <doctest/doctest.h>

#include "tests/nn/parity_state.h"

using namespace heed;

TEST_CASE("Activation: outputs and gradients are PyTorch's") {
  for (const ParityCase& c : Parity::load("layers", "activation")) {
    for (const DType dtype : {kFloat32, kFloat64}) {
      const Activation layer(parity_activation<ActivationKind>(c));
      const Variable x = parity_input(c, "x", dtype);
      const Variable y = layer(x);
      y.backward(c.tensor("cotangent", dtype));
      c.check("output", y.value());
      c.check("grad.input.x", x.grad().value());
      CHECK(layer.parameters().empty());
    }
  }
}

TEST_CASE("Activation: names its kind") {
  CHECK(Activation(ActivationKind::relu).describe() == "ReLU()");
  CHECK(Activation(ActivationKind::gelu).describe() == "GELU()");
  CHECK(
      Activation(ActivationKind::gelu_tanh).describe() ==
      "GELU(approximation=tanh)");
  CHECK(Activation(ActivationKind::silu).describe() == "SiLU()");
  CHECK(Activation(ActivationKind::sigmoid).describe() == "Sigmoid()");
  CHECK(Activation(ActivationKind::tanh).describe() == "Tanh()");
}
