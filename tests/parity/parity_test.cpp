#include "tests/parity/parity.h"

#include <doctest/doctest.h>

using namespace heed;

TEST_CASE("parity: a case is read with its options, names, shapes and values") {
  const ParityCase linear = Parity::load("layers", "linear").front();
  CHECK(linear.name() == "linear");
  CHECK(linear.options().at("in_features") == 5);
  CHECK(linear.names("state.") == std::vector<std::string>{"bias", "weight"});
  CHECK(linear["state.weight"].shape() == Shape{3, 5});
  CHECK(linear["state.weight"].dtype() == kFloat64);
  CHECK(linear.tensor("state.weight", kFloat32).dtype() == kFloat32);
  CHECK(linear["state.weight"].to_vector<double>()[0] == -0.171875);
  CHECK_FALSE(linear.has("state.scale"));
  CHECK_THROWS_AS(linear["state.scale"], std::runtime_error);
}

TEST_CASE("parity: masks are read as bools, or as floats with -inf") {
  const ParityCase bools = Parity::load("attention", "cross bool").front();
  CHECK(bools.tensor("mask.attn_mask", kFloat32).dtype() == kBool);
  const ParityCase floats = Parity::load("attention", "cross float").front();
  const std::vector<float> mask =
      floats.tensor("mask.attn_mask", kFloat32).to_vector<float>();
  CHECK(std::count(mask.begin(), mask.end(), -INFINITY) > 0);
}

TEST_CASE("parity: inputs are the same numbers in float32 and float64") {
  for (const char* topic :
       {"layers",
        "attention",
        "transformer_layers",
        "losses",
        "functional",
        "transformer"}) {
    for (const ParityCase& c : Parity::load(topic)) {
      for (const char* prefix : {"input.", "state.", "cotangent"}) {
        for (const std::string& rest : c.names(prefix)) {
          const std::string name = prefix + rest;
          CAPTURE(name);
          CHECK(c.error(name, c.tensor(name, kFloat32)) == 0);
        }
      }
    }
  }
}

TEST_CASE("parity: error is the largest difference over the largest value") {
  const ParityCase linear = Parity::load("layers", "linear").front();
  Tensor weight = linear["state.weight"].clone();
  CHECK(linear.error("state.weight", weight) == 0);
  double* values = weight.mutable_data<double>();
  values[6] += 1.421875 / 4;  // the largest
  CHECK(linear.error("state.weight", weight) == 0.25);
  values[0] = NAN;
  CHECK(linear.error("state.weight", weight) == INFINITY);
  CHECK(linear.error("state.bias", weight) == INFINITY);
}

TEST_CASE("parity: a topic or case that does not exist is an error") {
  CHECK_THROWS_AS(Parity::load("layer"), std::runtime_error);
  CHECK_THROWS_AS(Parity::load("layers", "lineal"), std::runtime_error);
}
