#include "nn/transformer_decoder.h"

#include <doctest/doctest.h>

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

template <typename Decoder>
void check_parity(Decoder& decoder, const ParityCase& c, DType dtype) {
  load_parity_state(decoder, c, dtype);
  const Variable tgt = parity_input(c, "tgt", dtype);
  const Variable memory = parity_input(c, "memory", dtype);
  const DecoderMaskOptions masks{
      .self =
          {.key_padding_mask = parity_mask(c, "tgt_key_padding_mask", dtype),
           .attn_mask = parity_mask(c, "tgt_mask", dtype),
           .is_causal = c.options().at("tgt_is_causal")},
      .cross = {
          .key_padding_mask = parity_mask(c, "memory_key_padding_mask", dtype),
          .attn_mask = parity_mask(c, "memory_mask", dtype)}};
  const Variable y = decoder.forward(tgt, memory, masks);
  y.backward(c.tensor("cotangent", dtype));
  c.check("output", y.value());
  c.check("grad.input.tgt", tgt.grad().value());
  c.check("grad.input.memory", memory.grad().value());
  check_parity_gradients(decoder, c);
}

Tensor drawn(const Shape& shape, uint64_t seed) {
  Generator generator(seed);
  return randn(shape, kFloat64, generator);
}

}  // namespace

TEST_CASE("TransformerDecoderLayer: outputs and gradients are PyTorch's") {
  for (const ParityCase& c :
       Parity::load("transformer_layers", "decoder_layer")) {
    for (const DType dtype : {kFloat32, kFloat64}) {
      const nlohmann::json& o = c.options();
      TransformerDecoderLayer layer(
          o.at("d_model"),
          o.at("num_heads"),
          o.at("d_ff"),
          options_of(c, dtype));
      check_parity(layer, c, dtype);
    }
  }
}

TEST_CASE("TransformerDecoder: outputs and gradients are PyTorch's") {
  for (const ParityCase& c : Parity::load("transformer_layers", "decoder p")) {
    for (const DType dtype : {kFloat32, kFloat64}) {
      const nlohmann::json& o = c.options();
      TransformerDecoder decoder(
          o.at("num_layers"),
          o.at("d_model"),
          o.at("num_heads"),
          o.at("d_ff"),
          options_of(c, dtype));
      check_parity(decoder, c, dtype);
    }
  }
}

TEST_CASE("TransformerDecoder: causal unless told otherwise, bit for bit") {
  const TransformerDecoder decoder(2, 8, 2, 16, in_double());
  const Tensor memory = drawn({2, 4, 8}, 1);
  const Tensor one = drawn({2, 6, 8}, 2);
  Tensor other = one.clone();
  other.select(1, 3).fill_(2);
  const Tensor a = decoder.forward(one, memory).value();
  const Tensor b = decoder.forward(other, memory).value();
  CHECK(equal(a.slice(1, 0, 3), b.slice(1, 0, 3)));
  CHECK_FALSE(equal(a.select(1, 3), b.select(1, 3)));
  CHECK_FALSE(equal(a.select(1, 5), b.select(1, 5)));
}

TEST_CASE("TransformerDecoder: steps equal the rows of one call") {
  for (const bool norm_first : {false, true}) {
    const TransformerDecoder decoder(2, 8, 2, 16, in_double(norm_first));
    const Tensor memory = drawn({2, 4, 8}, 1);
    Tensor padding = zeros({2, 4}, kBool);
    padding[0][3].fill_(1);
    const Tensor x = drawn({2, 6, 8}, 2);
    const Tensor expected =
        decoder.forward(x, memory, {.cross = {.key_padding_mask = padding}})
            .value();
    for (const int64_t size : {1, 4}) {
      std::vector<DecoderLayerCache> caches = decoder.start(memory);
      for (int64_t t = 0; t < 6; t += size) {
        const Tensor y =
            decoder.step(x.slice(1, t, t + size), caches, padding).value();
        CHECK(allclose(y, expected.slice(1, t, t + size), 1e-11, 1e-12));
      }
    }
    std::vector<DecoderLayerCache> none;
    CHECK_THROWS_AS(
        decoder.step(x.slice(1, 0, 1), none, padding), std::invalid_argument);
  }
}

TEST_CASE("TransformerDecoder: gives the weights of each layer, each call") {
  const TransformerDecoder decoder(3, 8, 2, 16, in_double());
  const Tensor memory = drawn({2, 4, 8}, 1);
  const Tensor x = drawn({2, 6, 8}, 2);
  std::vector<Variable> self, cross;
  for (int call = 0; call < 2; ++call) {
    decoder.forward(x, memory, {}, &self, &cross);
    REQUIRE(self.size() == 3);
    REQUIRE(cross.size() == 3);
    CHECK(self[0].shape() == Shape({2, 2, 6, 6}));
    CHECK(cross[2].shape() == Shape({2, 2, 6, 4}));
    CHECK(self[0].value()[0][0][0][1].item<double>() == 0);
  }
}

TEST_CASE("TransformerDecoder: bad sizes and inputs are errors") {
  CHECK_THROWS_AS(TransformerDecoder(-1, 8, 2, 16), std::invalid_argument);
  CHECK_THROWS_AS(TransformerDecoder(1, 8, 3, 16), std::invalid_argument);
  CHECK_THROWS_AS(TransformerDecoder(1, 8, 2, 0), std::invalid_argument);
  const TransformerDecoder decoder(1, 8, 2, 16);
  CHECK_THROWS_AS(
      decoder.forward(ones({2, 3, 8}), ones({1, 4, 8})), std::invalid_argument);
  CHECK_THROWS_AS(
      decoder.forward(ones({2, 3, 8}), ones({2, 4, 7})), std::invalid_argument);
  CHECK_THROWS_AS(decoder.start(ones({2, 8})), std::invalid_argument);
}
