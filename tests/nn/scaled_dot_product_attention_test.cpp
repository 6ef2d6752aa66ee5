#include "nn/scaled_dot_product_attention.h"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "autograd/gradcheck.h"
#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/elementwise.h"
#include "tensor/random.h"
#include "tensor/reduction.h"

using namespace heed;

namespace {

Variable drawn(const Shape& shape, uint64_t seed, DType dtype = kFloat64) {
  Generator generator(seed);
  return Variable(randn(shape, dtype, generator), true);
}

ScaledDotProductOptions padded(const Tensor& key_padding_mask) {
  ScaledDotProductOptions options;
  options.mask.key_padding_mask = key_padding_mask;
  options.need_weights = true;
  return options;
}

}  // namespace

TEST_CASE("scaled dot product: two keys by hand") {
  // Scores 1 * 4 / sqrt(4) = 2 and 0: weights e^2 / (e^2 + 1) and the rest.
  const Tensor q = tensor({1, 1, 1, 1}, kFloat64).reshape({1, 1, 1, 4});
  const Tensor k =
      tensor({{1, 1, 1, 1}, {1, -1, 1, -1}}, kFloat64).reshape({1, 1, 2, 4});
  const Tensor v = tensor({{10}, {20}}, kFloat64).reshape({1, 1, 2, 1});
  const AttentionResult result =
      scaled_dot_product_attention(q, k, v, {.need_weights = true});
  const double first = 1 / (1 + std::exp(-2.0));
  CHECK(
      result.weights.value().to_vector<double>()[0] == doctest::Approx(first));
  CHECK(result.output.item<double>() == doctest::Approx(20 - 10 * first));
  CHECK_FALSE(scaled_dot_product_attention(q, k, v).weights.defined());
}

TEST_CASE("scaled dot product: derivatives, with every kind of mask") {
  Generator generator(4);
  const auto check = [](const ScaledDotProductOptions& options) {
    const GradcheckReport report = gradcheck(
        [&](const std::vector<Variable>& x) {
          return scaled_dot_product_attention(x[0], x[1], x[2], options).output;
        },
        {drawn({2, 2, 3, 4}, 1),
         drawn({2, 2, 5, 4}, 2),
         drawn({2, 2, 5, 3}, 3)});
    CHECK_MESSAGE(report, report.message);
  };
  check({});
  check({.mask = {.is_causal = true}});
  check({.mask = {.attn_mask = randn({2, 1, 3, 5}, kFloat64, generator)}});
  Tensor padding = zeros({2, 5}, kBool);
  padding.select(1, 1).fill_(1);
  padding.select(0, 1).fill_(1);  // the second sentence sees nothing
  check({.mask = {.key_padding_mask = padding}});
}

TEST_CASE("scaled dot product: a padded key gets weight 0 however it is said") {
  // All scores are equal over three keys.
  const Tensor q = zeros({1, 1, 1, 2}, kFloat64);
  const Tensor k = ones({1, 1, 3, 2}, kFloat64);
  const auto weights = [&](const Tensor& mask) {
    return scaled_dot_product_attention(q, k, k, padded(mask))
        .weights.value()
        .to_vector<double>();
  };
  const std::vector<double> expected = {0.5, 0.5, 0};
  CHECK(weights(tensor({{false, false, true}})) == expected);
  CHECK(weights(tensor({{0.0, 0.0, -INFINITY}})) == expected);
  CHECK_THROWS_AS(weights(tensor({{0.0, 0.0, 1.0}})), std::invalid_argument);
  CHECK_THROWS_AS(weights(tensor({{0, 0, 1}})), std::invalid_argument);
}

TEST_CASE("scaled dot product: a query that sees no key gives exact zeros") {
  for (const DType dtype : {kFloat32, kFloat64}) {
    const Variable q = drawn({2, 2, 3, 4}, 1, dtype);
    const Variable k = drawn({2, 2, 5, 4}, 2, dtype);
    const Variable v = drawn({2, 2, 5, 4}, 3, dtype);
    Tensor padding = zeros({2, 5}, kBool);
    padding.select(0, 1).fill_(1);
    const AttentionResult result =
        scaled_dot_product_attention(q, k, v, padded(padding));
    CHECK(equal(result.output.value()[1], zeros({2, 3, 4}, dtype)));
    CHECK(equal(result.weights.value()[1], zeros({2, 3, 5}, dtype)));
    result.output.backward(drawn({2, 2, 3, 4}, 4, dtype).detach());
    for (const Variable& x : {q, k, v}) {
      const Tensor dx = x.grad().value();
      CHECK(all(isfinite(dx)).item<bool>());
      CHECK(equal(dx[1], zeros_like(dx[1])));
      CHECK_FALSE(equal(dx[0], zeros_like(dx[0])));
    }
  }
}

TEST_CASE("scaled dot product: a float mask of -inf hides like a bool one") {
  const Variable q = drawn({1, 2, 3, 4}, 1);
  const Variable k = drawn({1, 2, 3, 4}, 2);
  Tensor hidden = causal_mask(3, 3);
  hidden.select(0, 1).fill_(1);  // query 1 sees nothing
  const Tensor added = zeros({3, 3}, kFloat64).masked_fill_(hidden, -INFINITY);
  const Tensor by_bool =
      scaled_dot_product_attention(q, k, k, {.mask = {.attn_mask = hidden}})
          .output.value();
  const AttentionResult by_float =
      scaled_dot_product_attention(q, k, k, {.mask = {.attn_mask = added}});
  CHECK(equal(by_float.output.value(), by_bool));
  by_float.output.backward(drawn({1, 2, 3, 4}, 3).detach());
  CHECK(all(isfinite(q.grad().value())).item<bool>());
  CHECK(all(isfinite(k.grad().value())).item<bool>());
}

TEST_CASE("scaled dot product: causal is aligned to the last query") {
  const Variable q = drawn({1, 1, 5, 4}, 1);
  const Variable k = drawn({1, 1, 5, 4}, 2);
  const ScaledDotProductOptions causal{.mask = {.is_causal = true}};
  const Tensor all_rows =
      scaled_dot_product_attention(q, k, k, causal).output.value();
  const Tensor last_two =
      scaled_dot_product_attention(q.slice(2, 3, 5), k, k, causal)
          .output.value();
  CHECK(allclose(last_two, all_rows.slice(2, 3, 5), 1e-13, 1e-14));
  // More queries than keys: the first see nothing.
  const Tensor more = scaled_dot_product_attention(
                          q, k.slice(2, 0, 2), k.slice(2, 0, 2), causal)
                          .output.value();
  CHECK(equal(more.slice(2, 0, 3), zeros({1, 1, 3, 4}, kFloat64)));
}

TEST_CASE("scaled dot product: large scores stay finite") {
  const Tensor q = full({1, 1, 2, 4}, 1e4);
  Tensor k = full({1, 1, 3, 4}, 1e4);
  k.select(2, 0).mul_(-1);
  const AttentionResult result =
      scaled_dot_product_attention(q, k, k, {.need_weights = true});
  CHECK(equal(
      result.weights.value()[0][0],
      tensor({{0.0, 0.5, 0.5}, {0.0, 0.5, 0.5}})));
}

TEST_CASE("scaled dot product: dropout drops weights and is reproducible") {
  const Variable q = drawn({1, 1, 4, 4}, 1);
  const auto run = [&](uint64_t seed, double p) {
    Generator generator(seed);
    return scaled_dot_product_attention(
               q, q, q, {.dropout = p, .generator = generator})
        .output.value();
  };
  CHECK(equal(run(1, 0.5), run(1, 0.5)));
  CHECK_FALSE(equal(run(1, 0.5), run(2, 0.5)));
  CHECK(equal(run(1, 1), zeros({1, 1, 4, 4}, kFloat64)));
  CHECK_THROWS_AS(run(1, -0.5), std::invalid_argument);
  CHECK_THROWS_AS(run(1, 1.5), std::invalid_argument);
}

TEST_CASE("scaled dot product: no keys give zeros, no queries give none") {
  const Variable q = drawn({2, 2, 3, 4}, 1);
  const Variable none = drawn({2, 2, 0, 4}, 1);
  const Variable output = scaled_dot_product_attention(q, none, none).output;
  CHECK(equal(output.value(), zeros({2, 2, 3, 4}, kFloat64)));
  output.backward(ones({2, 2, 3, 4}, kFloat64));
  CHECK(equal(q.grad().value(), zeros({2, 2, 3, 4}, kFloat64)));
  CHECK(
      scaled_dot_product_attention(none, q, q).output.shape() ==
      Shape({2, 2, 0, 4}));
}

TEST_CASE("scaled dot product: shapes and dtypes that do not fit are errors") {
  const Tensor q = ones({2, 2, 3, 4});
  const Tensor k = ones({2, 2, 5, 4});
  const auto refuses = [](const Tensor& a, const Tensor& b, const Tensor& c) {
    CHECK_THROWS_AS(
        scaled_dot_product_attention(a, b, c), std::invalid_argument);
  };
  CHECK_THROWS_WITH_AS(
      scaled_dot_product_attention(q, ones({2, 2, 5, 3}), k),
      "scaled_dot_product_attention: q must have shape [B, num_heads, T, "
      "head_dim], k and v [B, num_heads, S, head_dim], got [2, 2, 3, 4], [2, "
      "2, 5, 3] and [2, 2, 5, 4]",
      std::invalid_argument);
  refuses(q, k, q);
  refuses(q, ones({1, 2, 5, 4}), ones({1, 2, 5, 4}));
  refuses(q[0], k[0], k[0]);
  refuses(q, k.to(kFloat64), k.to(kFloat64));
  refuses(q, k, k.to(kFloat64));
  refuses(q.to(kInt64), k.to(kInt64), k.to(kInt64));
}

TEST_CASE("scaled_dot_product_attention: packed sequences, with dropout") {
  const Packing queries(2, 3);
  const Packing keys(tensor({{false, false, true}, {false, true, true}}));
  const Variable q = drawn({1, 2, 6, 4}, 1);
  const Variable k = drawn({1, 2, 3, 4}, 2);
  Generator generator(3);
  const ScaledDotProductOptions options{
      .mask = {.query_packing = queries, .key_packing = keys},
      .dropout = 0.4,
      .generator = generator};
  const Tensor y =
      scaled_dot_product_attention(q, k, k, options).output.value();
  // As many numbers as the padded scores [2, 2, 3, 3] have.
  Generator counted(3);
  counted.reserve(36);
  CHECK(generator.state() == counted.state());
  generator.set_seed(3);
  ScaledDotProductOptions written_out = options;
  written_out.need_weights = true;
  CHECK(allclose(
      y,
      scaled_dot_product_attention(q, k, k, written_out).output.value(),
      1e-12,
      1e-13));
}
