#include "nn/multiplicative_attention.h"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include "tensor/comparison.h"
#include "tensor/creation.h"

using namespace heed;

namespace {

// One query over three keys.
const std::initializer_list<Values> kQuery = {{{3, 4}}};
const std::initializer_list<Values> kKeys = {{{4, 3}, {-3, -4}, {0, 0}}};

Tensor scores(const Attention& attention) {
  return attention.scores(tensor(kQuery, kFloat64), tensor(kKeys, kFloat64))
      .value()[0][0];
}

}  // namespace

TEST_CASE("DotAttention: scores are dot products") {
  CHECK(equal(scores(DotAttention()), tensor({24, -25, 0}, kFloat64)));
}

TEST_CASE("ScaledDotAttention: scores are divided by the root of the size") {
  CHECK(allclose(
      scores(ScaledDotAttention()),
      tensor({24 / std::sqrt(2.0), -25 / std::sqrt(2.0), 0.0}, kFloat64),
      1e-14));
}

TEST_CASE("CosineAttention: scores are cosines, 0 with a vector of zeros") {
  CHECK(allclose(
      scores(CosineAttention()), tensor({0.96, -1.0, 0.0}, kFloat64), 1e-14));
}

TEST_CASE("CosineAttention: lengths do not matter, tiny and huge ones too") {
  for (const double scale : {1e-30, 1.0, 1e15}) {
    const Tensor q = tensor({{{3., 4.}}}).mul_(scale);
    const Tensor k = tensor({{{4., 3.}}}).mul_(scale);
    CHECK(
        CosineAttention().scores(q, k).item<double>() ==
        doctest::Approx(0.96).epsilon(1e-6));
  }
}

TEST_CASE("CosineAttention: a vector of zeros gets a finite gradient") {
  const Variable q(zeros({1, 1, 2}), true);
  const Variable k(tensor({{{4., 3.}}}), true);
  CosineAttention().scores(q, k).backward(ones({1, 1, 1}));
  for (const float dq : q.grad().value().to_vector<float>()) {
    CHECK(std::abs(dq) <= 1);
  }
  CHECK(equal(k.grad().value(), zeros({1, 1, 2})));
}

TEST_CASE("GeneralAttention: scores are q^T W k, sizes may differ") {
  GeneralAttention attention(2, 3, {.dtype = kFloat64});
  attention.load_state_dict(
      {{"key_proj.weight", tensor({{1, 2, 0}, {0, -1, 3}}, kFloat64)}});
  const Tensor q = tensor({{{2, 1}}}, kFloat64);
  const Tensor k = tensor({{{1, 1, 1}, {0, 2, -1}}}, kFloat64);
  // W k = [3, 2] and [4, -5]
  CHECK(equal(attention.scores(q, k).value(), tensor({{{8, 3}}}, kFloat64)));
  CHECK(attention.num_parameters() == 6);
  CHECK_THROWS_AS(GeneralAttention(0, 3), std::invalid_argument);
}

TEST_CASE("multiplicative attention: other sizes are named") {
  CHECK_THROWS_WITH_AS(
      DotAttention().scores(ones({1, 2, 3}), ones({1, 2, 4})),
      "DotAttention: query and key must have one size, got [1, 2, 3] and [1, "
      "2, 4]",
      std::invalid_argument);
}
