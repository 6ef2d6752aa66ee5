#include "nn/transformer_encoder.h"

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/random.h"
#include "tests/nn/parity_state.h"

using namespace heed;

namespace {

TransformerLayerOptions options_of(const ParityCase& c, DType dtype) {
  return {
      .dropout = 0,
      .activation = parity_activation<ActivationKind>(c),
      .norm_first = c.options().at("norm_first"),
      .dtype = dtype};
}

TransformerLayerOptions in_double(bool norm_first = false) {
  static Generator generator;
  generator.set_seed(1);
  return {
      .dropout = 0,
      .norm_first = norm_first,
      .dtype = kFloat64,
      .generator = generator};
}

template <typename Encoder>
void check_parity(Encoder& encoder, const ParityCase& c, DType dtype) {
  load_parity_state(encoder, c, dtype);
  const Variable src = parity_input(c, "src", dtype);
  const Variable y = encoder.forward(
      src,
      {.key_padding_mask = parity_mask(c, "src_key_padding_mask", dtype),
       .attn_mask = parity_mask(c, "src_mask", dtype)});
  y.backward(c.tensor("cotangent", dtype));
  c.check("output", y.value());
  c.check("grad.input.src", src.grad().value());
  check_parity_gradients(encoder, c);
}

Tensor drawn(const Shape& shape, uint64_t seed) {
  Generator generator(seed);
  return randn(shape, kFloat64, generator);
}

}  // namespace

TEST_CASE("TransformerEncoderLayer: outputs and gradients are PyTorch's") {
  for (const ParityCase& c :
       Parity::load("transformer_layers", "encoder_layer")) {
    for (const DType dtype : {kFloat32, kFloat64}) {
      const nlohmann::json& o = c.options();
      TransformerEncoderLayer layer(
          o.at("d_model"),
          o.at("num_heads"),
          o.at("d_ff"),
          options_of(c, dtype));
      check_parity(layer, c, dtype);
    }
  }
}

TEST_CASE("TransformerEncoder: outputs and gradients are PyTorch's") {
  for (const ParityCase& c : Parity::load("transformer_layers", "encoder p")) {
    for (const DType dtype : {kFloat32, kFloat64}) {
      const nlohmann::json& o = c.options();
      TransformerEncoder encoder(
          o.at("num_layers"),
          o.at("d_model"),
          o.at("num_heads"),
          o.at("d_ff"),
          options_of(c, dtype));
      check_parity(encoder, c, dtype);
    }
  }
}

TEST_CASE("TransformerEncoder: what stands in padding changes nothing") {
  for (const bool norm_first : {false, true}) {
    TransformerEncoder encoder(2, 8, 2, 16, in_double(norm_first));
    Tensor padding = zeros({2, 5}, kBool);
    padding[1].slice(0, 3, 5).fill_(1);
    const Tensor one = drawn({2, 5, 8}, 2);
    Tensor other = one.clone();
    other[1].slice(0, 3, 5).fill_(100);
    const AttentionMaskOptions mask{.key_padding_mask = padding};
    const Tensor a = encoder.forward(one, mask).value();
    const Tensor b = encoder.forward(other, mask).value();
    CHECK(equal(a[0], b[0]));
    CHECK(equal(a[1].slice(0, 0, 3), b[1].slice(0, 0, 3)));
    CHECK_FALSE(equal(a, b));
  }
}

TEST_CASE("TransformerEncoder: gives the weights of each layer, each call") {
  const TransformerEncoder encoder(3, 8, 2, 16, in_double());
  const Tensor x = drawn({2, 5, 8}, 2);
  std::vector<Variable> weights;
  for (int call = 0; call < 2; ++call) {
    encoder.forward(x, {}, &weights);
    REQUIRE(weights.size() == 3);
    for (const Variable& layer : weights) {
      CHECK(layer.shape() == Shape({2, 2, 5, 5}));
    }
  }
}

TEST_CASE("TransformerEncoder: no layers give the input, normed if pre-norm") {
  const Tensor x = drawn({1, 2, 8}, 2);
  CHECK(equal(
      TransformerEncoder(0, 8, 2, 16, in_double()).forward(x).value(), x));
  const TransformerEncoder normed(0, 8, 2, 16, in_double(true));
  CHECK(normed.parameters().size() == 2);
  CHECK_FALSE(equal(normed.forward(x).value(), x));
}

TEST_CASE("TransformerEncoder: bad sizes are errors") {
  CHECK_THROWS_AS(TransformerEncoder(-1, 8, 2, 16), std::invalid_argument);
  CHECK_THROWS_AS(TransformerEncoder(1, 8, 3, 16), std::invalid_argument);
  CHECK_THROWS_AS(TransformerEncoder(1, 8, 2, 0), std::invalid_argument);
  CHECK_THROWS_AS(
      TransformerEncoder(1, 8, 2, 16, {.dropout = -1}), std::invalid_argument);
  const TransformerEncoder encoder(1, 8, 2, 16);
  CHECK_THROWS_AS(encoder.forward(ones({2, 8})), std::invalid_argument);
  CHECK_THROWS_AS(
      encoder.forward(ones({1, 2, 8}), {.key_padding_mask = ones({1, 2})}),
      std::invalid_argument);
}
