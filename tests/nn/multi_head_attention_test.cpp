#include "nn/multi_head_attention.h"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/elementwise.h"
#include "tensor/random.h"
#include "tensor/reduction.h"
#include "tests/nn/parity_state.h"

using namespace heed;

namespace {

Tensor drawn(const Shape& shape, uint64_t seed, DType dtype = kFloat64) {
  Generator generator(seed);
  return randn(shape, dtype, generator);
}

MultiHeadAttentionOptions in_double(uint64_t seed) {
  static Generator generator;
  generator.set_seed(seed);
  return {.dtype = kFloat64, .generator = generator};
}

}  // namespace

TEST_CASE("MultiHeadAttention: outputs, weights and gradients are PyTorch's") {
  for (const ParityCase& c : Parity::load("attention")) {
    for (const DType dtype : {kFloat32, kFloat64}) {
      const nlohmann::json& o = c.options();
      MultiHeadAttention layer(
          o.at("d_model"),
          o.at("num_heads"),
          {.bias = o.at("bias"), .dtype = dtype});
      load_parity_state(layer, c, dtype);
      const MultiHeadAttentionCall call{
          .mask =
              {.key_padding_mask = parity_mask(c, "key_padding_mask", dtype),
               .attn_mask = parity_mask(c, "attn_mask", dtype),
               .is_causal = o.at("is_causal")},
          .need_weights = true,
          .average_weights = o.at("average_weights")};
      const bool self = !c.has("input.key");
      const Variable query = parity_input(c, "query", dtype);
      const Variable key = self ? query : parity_input(c, "key", dtype);
      const Variable value = self ? query : parity_input(c, "value", dtype);
      const AttentionResult result =
          self ? layer.forward(query, call)
               : layer.forward(query, key, value, call);
      result.output.backward(c.tensor("cotangent", dtype));
      c.check("output", result.output.value());
      c.check("weights", result.weights.value());
      c.check("grad.input.query", query.grad().value());
      if (!self) {
        c.check("grad.input.key", key.grad().value());
        c.check("grad.input.value", value.grad().value());
      }
      check_parity_gradients(layer, c);
    }
  }
}

TEST_CASE("MultiHeadAttention: one product or three, the result is the same") {
  const MultiHeadAttention layer(8, 2, in_double(1));
  const Tensor x = drawn({2, 3, 8}, 2);
  const Tensor expected = layer.forward(x, x, x).output.value();
  const Variable one(x);
  CHECK(allclose(layer.forward(one).output.value(), expected, 1e-12, 1e-13));
  CHECK(allclose(
      layer.forward(Variable(x), one, one).output.value(),
      expected,
      1e-12,
      1e-13));
}

TEST_CASE("MultiHeadAttention: starts Xavier-uniform with biases 0") {
  const MultiHeadAttention layer(64, 4, in_double(1));
  const StateDict state = layer.state_dict();
  const double bound = std::sqrt(6.0 / (64 + 64));
  const Tensor weight = state.at("in_proj_weight");
  CHECK(max(abs(weight)).item<double>() <= bound);
  CHECK(max(abs(weight)).item<double>() > 0.99 * bound);
  CHECK(equal(state.at("in_proj_bias"), zeros({192}, kFloat64)));
  CHECK(equal(state.at("out_proj.bias"), zeros({64}, kFloat64)));
}

TEST_CASE("MultiHeadAttention: a query without keys harms nobody else") {
  // Two sentences; of the second, keys 2 and 3 are padding. A query sees itself
  // and the key before, so the last query of the second sees nothing.
  MultiHeadAttention layer(1, 1, in_double(3));
  const Tensor x = drawn({2, 4, 1}, 4);
  const Tensor padding =
      tensor({{false, false, false, false}, {false, false, true, true}});
  const Tensor local = tensor(
      {{false, true, true, true},
       {false, false, true, true},
       {true, false, false, true},
       {true, true, false, false}});
  const MultiHeadAttentionCall call{
      .mask = {.key_padding_mask = padding, .attn_mask = local},
      .need_weights = true};
  const AttentionResult result = layer.forward(x, call);
  CHECK(all(isfinite(result.output.value())).item<bool>());
  CHECK(equal(result.weights.value()[1][3], zeros({4}, kFloat64)));
  Tensor cotangent = drawn({2, 4, 1}, 5);
  cotangent[1].slice(0, 2, 4).zero_();  // only what is real counts
  result.output.backward(cotangent);
  for (const Variable& parameter : layer.parameters()) {
    CHECK(all(isfinite(parameter.grad().value())).item<bool>());
  }
  const Tensor alone = layer
                           .forward(
                               x.slice(0, 0, 1),
                               {.mask =
                                    {.key_padding_mask = padding.slice(0, 0, 1),
                                     .attn_mask = local}})
                           .output.value();
  CHECK(allclose(result.output.value().slice(0, 0, 1), alone, 1e-13, 1e-14));
}

TEST_CASE("MultiHeadAttention: a NaN stays in its own sentence") {
  const MultiHeadAttention layer(8, 2, in_double(1));
  Tensor x = drawn({3, 4, 8}, 2);
  const Tensor clean = layer.forward(x).output.value();
  x[1][2].fill_(NAN);
  const Tensor y = layer.forward(x).output.value();
  CHECK(equal(y[0], clean[0]));
  CHECK(equal(y[2], clean[2]));
  CHECK(all(isnan(y[1])).item<bool>());
}

TEST_CASE("MultiHeadAttention: steps with a cache equal one causal call") {
  const MultiHeadAttention layer(8, 2, in_double(1));
  const Tensor x = drawn({2, 20, 8}, 2);
  const Tensor expected =
      layer.forward(x, {.mask = {.is_causal = true}}).output.value();
  for (const int64_t size : {1, 3, 7, 20}) {
    KeyValueCache cache;
    for (int64_t t = 0; t < 20; t += size) {
      const Tensor y = layer.step(x.slice(1, t, t + size), cache).value();
      CHECK(allclose(y, expected.slice(1, t, t + size), 1e-12, 1e-13));
    }
    CHECK(cache.length() == 20);
  }
}

TEST_CASE("MultiHeadAttention: padded positions are hidden from later steps") {
  const MultiHeadAttention layer(8, 2, in_double(1));
  const Tensor x = drawn({2, 4, 8}, 2);
  const Tensor padding =
      tensor({{true, false, false, false}, {false, true, false, false}});
  const Tensor expected =
      layer
          .forward(
              x, {.mask = {.key_padding_mask = padding, .is_causal = true}})
          .output.value();
  KeyValueCache cache;
  for (int64_t t = 0; t < 4; ++t) {
    const Tensor y =
        layer.step(x.slice(1, t, t + 1), cache, padding.slice(1, 0, t + 1))
            .value();
    CHECK(allclose(y, expected.slice(1, t, t + 1), 1e-12, 1e-13));
  }
}

TEST_CASE("MultiHeadAttention: attention over a projected memory") {
  const MultiHeadAttention layer(8, 2, in_double(1));
  const Tensor x = drawn({2, 3, 8}, 2);
  const Tensor memory = drawn({2, 5, 8}, 3);
  Tensor padding = zeros({2, 5}, kBool);
  padding[1].slice(0, 3, 5).fill_(1);
  const KeyValueCache cache = layer.project(memory);
  CHECK(cache.length() == 5);
  CHECK(allclose(
      layer.attend(x, cache, {}).value(),
      layer.forward(x, memory, memory).output.value(),
      1e-12,
      1e-13));
  CHECK(allclose(
      layer.attend(x, cache, padding).value(),
      layer.forward(x, memory, memory, {.mask = {.key_padding_mask = padding}})
          .output.value(),
      1e-12,
      1e-13));
  CHECK_THROWS_AS(layer.attend(x, KeyValueCache(), {}), std::invalid_argument);
  CHECK_THROWS_AS(
      layer.attend(x.slice(0, 0, 1), cache, {}), std::invalid_argument);
}

TEST_CASE("MultiHeadAttention: an empty memory gives the projection's bias") {
  MultiHeadAttention layer(8, 2, in_double(1));
  layer.load_state_dict(
      {{"out_proj.bias", full({8}, 0.5, kFloat64)}}, /*strict=*/false);
  const Tensor x = drawn({2, 3, 8}, 2);
  const Tensor none = zeros({2, 0, 8}, kFloat64);
  const Tensor expected = full({2, 3, 8}, 0.5, kFloat64);
  CHECK(equal(layer.forward(x, none, none).output.value(), expected));
  CHECK(equal(layer.attend(x, layer.project(none), {}).value(), expected));
}

TEST_CASE("MultiHeadAttention: packed sequences are what padded ones are") {
  Generator generator(5);
  MultiHeadAttention layer(
      8, 2, {.dropout = 0.3, .dtype = kFloat64, .generator = generator});
  const Tensor padding =
      tensor({{false, false, false, true}, {false, true, true, true}});
  const Packing queries(2, 3);
  const Packing keys(padding);
  const Tensor x = drawn({2, 3, 8}, 1);
  const Tensor memory = drawn({2, 4, 8}, 2);
  // With the same numbers for dropout, whose count is that of padded scores.
  const GeneratorState start = generator.state();
  const Tensor padded =
      layer.forward(x, memory, memory, {.mask = {.key_padding_mask = padding}})
          .output.value();
  const GeneratorState end = generator.state();
  generator.set_state(start);
  const Variable packed_memory(pack(memory, keys));
  const AttentionResult result = layer.forward(
      pack(x, queries),
      packed_memory,
      packed_memory,
      {.mask = {.query_packing = queries, .key_packing = keys}});
  CHECK(generator.state() == end);
  CHECK(allclose(result.output.value(), pack(padded, queries), 1e-12, 1e-13));
}

TEST_CASE("MultiHeadAttention: dropout acts while training only") {
  MultiHeadAttentionOptions options = in_double(1);
  options.dropout = 0.5;
  MultiHeadAttention layer(8, 2, options);
  const Tensor x = drawn({2, 6, 8}, 2);
  CHECK_FALSE(
      equal(layer.forward(x).output.value(), layer.forward(x).output.value()));
  layer.eval();
  CHECK(
      equal(layer.forward(x).output.value(), layer.forward(x).output.value()));
}

TEST_CASE("MultiHeadAttention: sizes and inputs that do not fit are errors") {
  CHECK_THROWS_WITH_AS(
      MultiHeadAttention(512, 7),
      "MultiHeadAttention: d_model must be divisible by num_heads, both "
      "positive, got d_model = 512 and num_heads = 7",
      std::invalid_argument);
  CHECK_THROWS_AS(MultiHeadAttention(0, 1), std::invalid_argument);
  CHECK_THROWS_AS(MultiHeadAttention(8, 0), std::invalid_argument);
  CHECK_THROWS_AS(MultiHeadAttention(8, -2), std::invalid_argument);
  CHECK_THROWS_AS(
      MultiHeadAttention(8, 2, {.dropout = 1.5}), std::invalid_argument);
  const MultiHeadAttention layer(8, 2);
  const Tensor x = ones({2, 3, 8});
  CHECK_THROWS_WITH_AS(
      layer.forward(ones({2, 3, 7})),
      "MultiHeadAttention: query must have shape [B, T, 8], got [2, 3, 7]",
      std::invalid_argument);
  const auto refuses = [&](const Variable& q,
                           const Variable& k,
                           const Variable& v,
                           const MultiHeadAttentionCall& call = {}) {
    CHECK_THROWS_AS(layer.forward(q, k, v, call), std::invalid_argument);
  };
  refuses(x[0], x[0], x[0]);
  refuses(x, ones({1, 3, 8}), ones({1, 3, 8}));
  refuses(x, ones({2, 4, 8}), x);
  refuses(x, Variable(), x);
  refuses(x.to(kFloat64), x, x);
  refuses(x, x.to(kFloat64), x);
  refuses(x, x, x, {.mask = {.key_padding_mask = zeros({2, 4}, kBool)}});
  refuses(x, x, x, {.mask = {.attn_mask = zeros({2, 3, 3}, kFloat64)}});
  CHECK(layer.forward(ones({0, 3, 8})).output.shape() == Shape({0, 3, 8}));
  CHECK(layer.forward(ones({2, 0, 8})).output.shape() == Shape({2, 0, 8}));
}
