#include "nn/attention.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <stdexcept>
#include <vector>

#include "autograd/gradcheck.h"
#include "nn/additive_attention.h"
#include "nn/multiplicative_attention.h"
#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/random.h"

using namespace heed;

namespace {

Tensor drawn(const Shape& shape, uint64_t seed) {
  Generator generator(seed);
  return randn(shape, kFloat64, generator);
}

/// Calls f with an attention of each kind for queries and keys of size 3.
void for_each_kind(const std::function<void(const Attention&)>& f) {
  Generator generator(1);
  f(DotAttention());
  f(ScaledDotAttention());
  f(CosineAttention());
  f(GeneralAttention(3, 3, {kFloat64, generator}));
  f(AdditiveAttention(3, 3, 5, {kFloat64, generator}));
}

}  // namespace

TEST_CASE(
    "Attention: weights are the softmax of the scores, padding left out") {
  const Tensor query = drawn({2, 2, 3}, 1);
  const Tensor key = drawn({2, 4, 3}, 2);
  const Tensor value = drawn({2, 4, 2}, 3);
  const Tensor padding =
      tensor({{false, false, false, true}, {true, true, true, true}});
  for_each_kind([&](const Attention& attention) {
    CAPTURE(attention.describe());
    const Tensor scores = attention.scores(query, key).value();
    CHECK(scores.shape() == Shape({2, 2, 4}));
    const AttentionResult result =
        attention.forward(query, key, value, padding);
    const auto s = scores.to_vector<double>();
    const auto w = result.weights.value().to_vector<double>();
    const auto v = value.to_vector<double>();
    for (size_t t = 0; t < 2; ++t) {
      double total = 0;
      for (size_t j = 0; j < 3; ++j) {
        total += std::exp(s[t * 4 + j]);
      }
      double output = 0;
      for (size_t j = 0; j < 3; ++j) {
        const double weight = std::exp(s[t * 4 + j]) / total;
        CHECK(w[t * 4 + j] == doctest::Approx(weight));
        output += weight * v[j * 2];
      }
      CHECK(w[t * 4 + 3] == 0);
      CHECK(
          result.output.value()[0][static_cast<int64_t>(t)][0].item<double>() ==
          doctest::Approx(output));
    }
    CHECK(equal(result.output.value()[1], zeros({2, 2}, kFloat64)));
    CHECK(equal(result.weights.value()[1], zeros({2, 4}, kFloat64)));
  });
}

TEST_CASE("Attention: derivatives of every kind, with padding") {
  Tensor padding = zeros({2, 4}, kBool);
  padding[0][1].fill_(1);
  padding[1].fill_(1);
  for_each_kind([&](const Attention& attention) {
    CAPTURE(attention.describe());
    for (const Tensor& mask : {Tensor(), padding}) {
      const GradcheckReport report = gradcheck(
          [&](const std::vector<Variable>& x) {
            return attention.forward(x[0], x[1], x[2], mask).output;
          },
          {Variable(drawn({2, 2, 3}, 1), true),
           Variable(drawn({2, 4, 3}, 2), true),
           Variable(drawn({2, 4, 2}, 3), true)});
      CHECK_MESSAGE(report, report.message);
    }
  });
}

TEST_CASE("Attention: shapes, masks and dtypes that do not fit are errors") {
  const Tensor query = drawn({2, 2, 3}, 1);
  const Tensor key = drawn({2, 4, 3}, 2);
  for_each_kind([&](const Attention& attention) {
    CAPTURE(attention.describe());
    const auto refuses = [&](const Tensor& q,
                             const Tensor& k,
                             const Tensor& v,
                             const Tensor& mask = {}) {
      CHECK_THROWS_AS(attention.forward(q, k, v, mask), std::invalid_argument);
    };
    refuses(query, key, drawn({2, 5, 3}, 3));
    refuses(query, drawn({1, 4, 3}, 3), drawn({1, 4, 3}, 3));
    refuses(query[0], key[0], key[0]);
    refuses(query, drawn({2, 4, 2}, 3), key);
    refuses(query, key, key, zeros({2, 3}, kBool));
    refuses(query, key, key, ones({2, 4}));
    refuses(query, key.to(kFloat32), key);
    CHECK(
        attention.forward(query, drawn({2, 0, 3}, 1), drawn({2, 0, 5}, 1))
            .output.shape() == Shape({2, 2, 5}));
    CHECK(
        attention
            .forward(
                drawn({0, 2, 3}, 1), drawn({0, 4, 3}, 1), drawn({0, 4, 5}, 1))
            .output.shape() == Shape({0, 2, 5}));
  });
}
