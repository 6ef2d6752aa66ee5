#include "nn/greedy_decoding.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "autograd/node.h"
#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/random.h"
#include "tensor/reduction.h"

using namespace heed;

namespace {

using Sequences = std::vector<std::vector<int64_t>>;

TransformerOptions small(DType dtype = kFloat64) {
  static Generator generator;
  generator.set_seed(1);
  return {
      .num_encoder_layers = 2,
      .num_decoder_layers = 2,
      .d_model = 16,
      .num_heads = 4,
      .d_ff = 32,
      .dropout = 0,
      .dtype = dtype,
      .generator = generator};
}

/// Sentences of different lengths, filled up with 0.
Tensor sentences(int64_t count, int64_t vocabulary) {
  Generator generator(5);
  Tensor ids = randint(3, vocabulary, {count, 8}, kInt64, generator);
  for (int64_t b = 0; b < count; ++b) {
    ids[b].slice(0, 2 + b % 7, 8).zero_();
  }
  return ids;
}

/// What greedy_decode is to do, by forward() over everything each time.
std::vector<int64_t> decoded_slowly(
    const Transformer& model, const Tensor& src, int64_t max_length) {
  std::vector<int64_t> tokens = {1};
  while (static_cast<int64_t>(tokens.size()) <= max_length) {
    const auto length = static_cast<int64_t>(tokens.size());
    const Tensor logits = model(src, from_vector(tokens, {1, length})).value();
    const int64_t next = argmax(logits[0][length - 1], 0).item<int64_t>();
    if (next == 2) {
      break;
    }
    tokens.push_back(next);
  }
  return {tokens.begin() + 1, tokens.end()};
}

}  // namespace

TEST_CASE("decode_step: logits are the rows of forward") {
  for (const DType dtype : {kFloat32, kFloat64}) {
    const double tolerance = dtype == kFloat32 ? 1e-5 : 1e-10;
    for (const bool norm_first : {false, true}) {
      for (const int64_t learned : {0, 12}) {
        TransformerOptions options = small(dtype);
        options.norm_first = norm_first;
        options.learned_positions = learned;
        const Transformer model(11, 9, options);
        const Tensor src = sentences(4, 11);
        Generator generator(2);
        const Tensor tgt = randint(1, 9, {4, 12}, kInt64, generator);
        const Tensor expected = model(src, tgt).value();
        DecodingState state = model.start_decoding(src);
        for (int64_t t = 0; t < 12; ++t) {
          CHECK(state.position == t);
          const Tensor logits = model.decode_step(tgt.select(1, t), state);
          CHECK(logits.shape() == Shape({4, 9}));
          CHECK(allclose(logits, expected.select(1, t), tolerance, tolerance));
        }
        if (learned > 0) {
          CHECK_THROWS_AS(
              model.decode_step(tgt.select(1, 0), state),
              std::invalid_argument);
        }
      }
    }
  }
}

TEST_CASE(
    "decode_step: after padding zeros follow, and later tokens do not see it") {
  const Transformer model(11, 11, small());
  const Tensor src = sentences(3, 11);
  const Tensor tgt =
      tensor({{0, 4, 5, 6}, {1, 4, 0, 6}, {1, 4, 5, 6}});  // 0 is padding
  const Tensor expected = model(src, tgt).value();
  DecodingState state = model.start_decoding(src);
  for (int64_t t = 0; t < 4; ++t) {
    CHECK(allclose(
        model.decode_step(tgt.select(1, t), state),
        expected.select(1, t),
        1e-10,
        1e-10));
  }
}

TEST_CASE("decode_step: a copied state goes its own way") {
  const Transformer model(11, 11, small());
  const Tensor src = sentences(2, 11);
  DecodingState one = model.start_decoding(src);
  model.decode_step(tensor({1, 1}), one);
  model.decode_step(tensor({3, 4}), one);
  DecodingState other = one;
  model.decode_step(tensor({5, 5}), one);
  model.decode_step(tensor({6, 6}), other);
  CHECK(allclose(
      model.decode_step(tensor({7, 7}), one),
      model(src, tensor({{1, 3, 5, 7}, {1, 4, 5, 7}})).value().select(1, 3),
      1e-10,
      1e-10));
  CHECK(allclose(
      model.decode_step(tensor({7, 7}), other),
      model(src, tensor({{1, 3, 6, 7}, {1, 4, 6, 7}})).value().select(1, 3),
      1e-10,
      1e-10));
}

TEST_CASE("decode_step: bad tokens are errors and leave the state alone") {
  const Transformer model(11, 9, small());
  const Tensor src = sentences(2, 11);
  DecodingState state = model.start_decoding(src);
  model.decode_step(tensor({1, 1}), state);
  CHECK_THROWS_WITH_AS(
      model.decode_step(tensor({1, 1, 1}), state),
      "Transformer: tokens must be int64 ids of shape [rows] = [2], got int64 "
      "[3]",
      std::invalid_argument);
  CHECK_THROWS_AS(
      model.decode_step(tensor({{1, 1}}), state), std::invalid_argument);
  CHECK_THROWS_AS(
      model.decode_step(tensor({1., 1.}), state), std::invalid_argument);
  CHECK_THROWS_AS(
      model.decode_step(tensor({1, 9}), state), std::invalid_argument);
  CHECK_THROWS_AS(model.decode_step(Tensor(), state), std::invalid_argument);
  CHECK(state.position == 1);
  CHECK(allclose(
      model.decode_step(tensor({3, 4}), state),
      model(src, tensor({{1, 3}, {1, 4}})).value().select(1, 1),
      1e-10,
      1e-10));
}

TEST_CASE("decode_step: records nothing") {
  const Transformer model(11, 11, small());
  const int64_t before = live_nodes();
  DecodingState state = model.start_decoding(sentences(2, 11));
  model.decode_step(tensor({1, 1}), state);
  CHECK(live_nodes() == before);
}

TEST_CASE("greedy_decode: takes the likeliest token of forward each time") {
  Transformer model(11, 11, small());
  const Tensor src = sentences(7, 11);
  const Sequences batch = greedy_decode(model, src, {.max_length = 10});
  REQUIRE(batch.size() == 7);
  for (int64_t b = 0; b < 7; ++b) {
    CHECK(
        batch[static_cast<size_t>(b)] ==
        decoded_slowly(model, src.slice(0, b, b + 1), 10));
  }
}

TEST_CASE("greedy_decode: neighbours and padding do not matter") {
  Transformer model(11, 11, small());
  const Tensor src = sentences(20, 11);
  const Sequences all = greedy_decode(model, src, {.max_length = 12});
  for (int64_t b = 0; b < 20; ++b) {
    const Tensor alone = src.slice(0, b, b + 1).slice(1, 0, 2 + b % 7);
    CHECK(
        greedy_decode(model, alone, {.max_length = 12})[0] ==
        all[static_cast<size_t>(b)]);
  }
  for (const int64_t size : {3, 8}) {
    Sequences parts;
    for (int64_t b = 0; b < 20; b += size) {
      for (auto& ids : greedy_decode(
               model, src.slice(0, b, b + size), {.max_length = 12})) {
        parts.push_back(std::move(ids));
      }
    }
    CHECK(parts == all);
  }
}

TEST_CASE("greedy_decode: a sequence ends with eos or at max_length") {
  Transformer model(11, 11, small());
  const Tensor src = sentences(3, 11);
  // eos is the likeliest token everywhere, then never.
  model.state_dict().at("output_proj.bias")[2].fill_(1000);
  CHECK(greedy_decode(model, src) == Sequences(3));
  model.state_dict().at("output_proj.bias")[2].fill_(-1000);
  model.state_dict().at("output_proj.bias")[5].fill_(1000);
  CHECK(
      greedy_decode(model, src, {.max_length = 4}) ==
      Sequences(3, {5, 5, 5, 5}));
  CHECK(
      greedy_decode(model, src, {.eos_id = 5, .max_length = 4}) ==
      Sequences(3));
  CHECK(greedy_decode(model, src, {.max_length = 0}) == Sequences(3));
}

TEST_CASE("greedy_decode: ties go to the lowest id") {
  Transformer model(11, 11, small());
  model.state_dict().at("output_proj.weight").zero_();
  model.state_dict()
      .at("output_proj.bias")
      .copy_(tensor({0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0}, kFloat64));
  CHECK(
      greedy_decode(model, sentences(1, 11), {.max_length = 2}) ==
      Sequences{{4, 4}});
}

TEST_CASE("greedy_decode: no dropout, and all modes as before") {
  TransformerOptions options = small();
  options.dropout = 0.5;
  Transformer model(11, 11, options);
  const Tensor src = sentences(4, 11);
  const Sequences first = greedy_decode(model, src, {.max_length = 8});
  CHECK(greedy_decode(model, src, {.max_length = 8}) == first);
  CHECK(model.is_training());
  bool all_training = true;
  model.apply([&](Module& part) { all_training &= part.is_training(); });
  CHECK(all_training);
  model.eval();
  CHECK(greedy_decode(model, src, {.max_length = 8}) == first);
  CHECK_FALSE(model.is_training());
}

TEST_CASE("greedy_decode: bad ids, lengths and sources are errors") {
  Transformer model(11, 9, small());
  const Tensor src = sentences(2, 11);
  CHECK_THROWS_WITH_AS(
      greedy_decode(model, src, {.bos_id = 9}),
      "greedy_decode: bos_id must be in [0, 9), got 9",
      std::invalid_argument);
  CHECK_THROWS_AS(
      greedy_decode(model, src, {.eos_id = -1}), std::invalid_argument);
  CHECK_THROWS_AS(
      greedy_decode(model, src, {.max_length = -1}), std::invalid_argument);
  CHECK_THROWS_AS(greedy_decode(model, src[0]), std::invalid_argument);
  CHECK_THROWS_AS(greedy_decode(model, Tensor()), std::invalid_argument);
  CHECK_THROWS_AS(
      greedy_decode(model, full({1, 2}, 11, kInt64)), std::invalid_argument);
  CHECK(model.is_training());
}

TEST_CASE("greedy_decode: nothing in, nothing out; empty sources decode") {
  Transformer model(11, 11, small());
  CHECK(greedy_decode(model, zeros({0, 5}, kInt64)).empty());
  CHECK(greedy_decode(model, zeros({0, 0}, kInt64)).empty());
  // No source token and only padding are the same: no key to attend to.
  const Sequences none =
      greedy_decode(model, zeros({2, 0}, kInt64), {.max_length = 5});
  CHECK(greedy_decode(model, zeros({2, 3}, kInt64), {.max_length = 5}) == none);
  CHECK(none[0] == none[1]);
}
