#include "nn/additive_attention.h"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include "tensor/comparison.h"
#include "tensor/creation.h"

using namespace heed;

TEST_CASE("AdditiveAttention: scores are v^T tanh(Wq q + Wk k)") {
  AdditiveAttention attention(2, 1, 2, {.dtype = kFloat64});
  attention.load_state_dict(
      {{"query_proj.weight", tensor({{1., 0.}, {0.5, -1.}}, kFloat64)},
       {"key_proj.weight", tensor({{2.}, {-1.}}, kFloat64)},
       {"score_proj.weight", tensor({{3., -2.}}, kFloat64)}});
  const Tensor q = tensor({{{1., 2.}, {0., 0.}}}, kFloat64);
  const Tensor k = tensor({{{0.5}, {-1.}}}, kFloat64);
  // Wq q = [1, -1.5] and [0, 0]; Wk k = [1, -0.5] and [-2, 1]
  const auto score = [](double a, double b) {
    return 3 * std::tanh(a) - 2 * std::tanh(b);
  };
  CHECK(allclose(
      attention.scores(q, k).value(),
      tensor(
          {{{score(2, -2), score(-1, -0.5)}, {score(1, -0.5), score(-2, 1)}}},
          kFloat64),
      1e-14));
}

TEST_CASE("AdditiveAttention: every parameter learns") {
  const AdditiveAttention attention(3, 4, 5);
  CHECK(attention.num_parameters() == 15 + 20 + 5);
  const Tensor q = arange(0, 0.6, 0.1).reshape({1, 2, 3});
  const Tensor k = arange(0, 0.8, 0.1).reshape({1, 2, 4});
  attention.forward(q, k, k).output.backward(
      arange(0, 0.8, 0.1).reshape({1, 2, 4}));
  for (const auto& [key, parameter] : attention.named_parameters()) {
    const std::string& name = key;
    CAPTURE(name);
    CHECK_FALSE(equal(parameter.grad().value(), zeros_like(parameter.value())));
  }
}

TEST_CASE("AdditiveAttention: sizes must be positive") {
  CHECK_THROWS_AS(AdditiveAttention(0, 1, 1), std::invalid_argument);
  CHECK_THROWS_AS(AdditiveAttention(1, 0, 1), std::invalid_argument);
  CHECK_THROWS_AS(AdditiveAttention(1, 1, 0), std::invalid_argument);
}
