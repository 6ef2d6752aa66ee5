#include "nn/embedding.h"

#include <doctest/doctest.h>

#include <cmath>
#include <optional>
#include <stdexcept>

#include "autograd/elementwise.h"
#include "autograd/reduction.h"
#include "nn/init.h"
#include "optim/adam.h"
#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tests/nn/parity_state.h"

using namespace heed;

TEST_CASE("Embedding: outputs and gradients are PyTorch's") {
  for (const ParityCase& c : Parity::load("layers", "embedding")) {
    for (const DType dtype : {kFloat32, kFloat64}) {
      const nlohmann::json& o = c.options();
      std::optional<int64_t> padding;
      if (!o.at("padding_idx").is_null()) {
        padding = o.at("padding_idx");
      }
      Embedding layer(
          o.at("num_embeddings"),
          o.at("embedding_dim"),
          {.padding_idx = padding, .dtype = dtype});
      load_parity_state(layer, c, dtype);
      const Variable y = layer(c["input.ids"]);
      y.backward(c.tensor("cotangent", dtype));
      c.check("output", y.value());
      check_parity_gradients(layer, c);
    }
  }
}

TEST_CASE("Embedding: padding gets no gradient however many ids there are") {
  for (const int64_t count : {1, 768, 769, 1000}) {
    const Embedding layer(10, 8, {.padding_idx = 0});
    const Variable y = layer(zeros({count}, kInt64));
    CHECK(equal(y.value(), zeros({count, 8})));
    y.backward(ones({count, 8}));
    CHECK(equal(layer.weight().grad().value(), zeros({10, 8})));
  }
}

TEST_CASE("Embedding: the row of padding stays 0 when set and when stepped") {
  Embedding layer(10, 8, {.padding_idx = 0});
  CHECK(equal(layer.weight().value()[0], zeros({8})));
  layer.set_weight(init::xavier_uniform({10, 8}));
  CHECK(equal(layer.weight().value()[0], zeros({8})));
  CHECK_FALSE(equal(layer.weight().value()[1], zeros({8})));
  AdamW optimizer(layer.parameters(), {.lr = 0.1, .weight_decay = 0.1});
  const Tensor before = layer.weight().value().clone();
  layer(tensor({0, 1, 2, 0})).backward(ones({4, 8}));
  optimizer.step();
  CHECK(equal(layer.weight().value()[0], zeros({8})));
  CHECK_FALSE(equal(layer.weight().value()[1], before[1]));
}

TEST_CASE("Embedding: starts normal with mean 0 and std 1") {
  Generator generator(1);
  const Embedding layer(100, 100, {.generator = generator});
  double total = 0;
  double squares = 0;
  for (const double x : layer.weight().value().to_vector<double>()) {
    total += x;
    squares += x * x;
  }
  CHECK(std::abs(total / 1e4) < 0.04);
  CHECK(squares / 1e4 == doctest::Approx(1).epsilon(0.05));
}

TEST_CASE("Embedding: bad sizes, ids and weights are errors") {
  CHECK_THROWS_AS(Embedding(0, 2), std::invalid_argument);
  CHECK_THROWS_AS(Embedding(2, 0), std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      Embedding(3, 2, {.padding_idx = 3}),
      "Embedding: padding_idx must be in [0, 3), got 3",
      std::invalid_argument);
  CHECK_THROWS_AS(Embedding(3, 2, {.padding_idx = -1}), std::invalid_argument);
  Embedding layer(3, 2);
  CHECK_THROWS_AS(layer(tensor({0, 3})), std::invalid_argument);
  CHECK_THROWS_AS(layer(tensor({-1})), std::invalid_argument);
  CHECK_THROWS_AS(layer(tensor({1.0})), std::invalid_argument);
  CHECK_THROWS_AS(layer(Tensor()), std::invalid_argument);
  const Tensor before = layer.weight().value().clone();
  CHECK_THROWS_WITH_AS(
      layer.set_weight(ones({2})),
      "Embedding: the weight must have shape [3, 2], got [2]",
      std::invalid_argument);
  CHECK_THROWS_AS(
      layer.set_weight(ones({3, 2}, kFloat64)), std::invalid_argument);
  CHECK_THROWS_AS(layer.set_weight(Tensor()), std::invalid_argument);
  CHECK_THROWS_AS(
      layer.tie_weight(Variable(ones({2, 2}), true)), std::invalid_argument);
  CHECK(equal(layer.weight().value(), before));
}

TEST_CASE("Embedding: a tied weight is learnt from both sides") {
  Embedding a(3, 2);
  Embedding b(3, 2);
  b.tie_weight(a.weight());
  (a(tensor({0})) + b(tensor({0}))).backward(ones({1, 2}));
  CHECK(equal(a.weight().grad().value()[0], full({2}, 2.0)));
  CHECK(b.parameters()[0].node() == a.weight().node());
}

TEST_CASE("Embedding: no ids give no vectors") {
  const Embedding layer(3, 2);
  const Variable y = layer(zeros({0, 4}, kInt64));
  CHECK(y.shape() == Shape({0, 4, 2}));
  y.backward(zeros({0, 4, 2}));
  CHECK(equal(layer.weight().grad().value(), zeros({3, 2})));
}
