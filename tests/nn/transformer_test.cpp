#include "nn/transformer.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "autograd/cross_entropy.h"
#include "autograd/node.h"
#include "optim/adam.h"
#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/elementwise.h"
#include "tensor/indexing.h"
#include "tensor/joining.h"
#include "tensor/memory.h"
#include "tensor/parallel.h"
#include "tensor/random.h"
#include "tensor/reduction.h"
#include "tests/nn/parity_state.h"

using namespace heed;

namespace {

/// Small, without dropout, in float64, from a seed of its own.
TransformerOptions small(uint64_t seed = 1) {
  static Generator generator;
  generator.set_seed(seed);
  return {
      .num_encoder_layers = 2,
      .num_decoder_layers = 2,
      .d_model = 8,
      .num_heads = 2,
      .d_ff = 16,
      .dropout = 0,
      .dtype = kFloat64,
      .generator = generator};
}

/// Ids from 1 on: no padding.
Tensor drawn_ids(const Shape& shape, int64_t vocabulary, uint64_t seed) {
  Generator generator(seed);
  return randint(1, vocabulary, shape, kInt64, generator);
}

double largest(const Tensor& x) { return max(abs(x)).item<double>(); }

bool all_finite(const Tensor& x) { return all(isfinite(x)).item<bool>(); }

}  // namespace

TEST_CASE("Transformer: outputs, gradients and training are PyTorch's") {
  for (const ParityCase& c : Parity::load("transformer")) {
    for (const DType dtype : {kFloat32, kFloat64}) {
      const nlohmann::json& o = c.options();
      const int64_t pad_id = o.at("pad_id");
      const bool tied = o.at("tied");
      Transformer model(
          o.at("vocabulary"),
          o.at("vocabulary"),
          {.num_encoder_layers = o.at("num_layers"),
           .num_decoder_layers = o.at("num_layers"),
           .d_model = o.at("d_model"),
           .num_heads = o.at("num_heads"),
           .d_ff = o.at("d_ff"),
           .dropout = 0,
           .activation = parity_activation<ActivationKind>(c),
           .norm_first = o.at("norm_first"),
           .pad_id = pad_id,
           .tie_source_target = tied,
           .tie_output = tied,
           .output_bias = o.at("output_bias"),
           .dtype = dtype});
      load_parity_state(model, c, dtype);
      const nlohmann::json& adam = o.at("adam");
      Adam optimizer(
          model.parameters(),
          {.lr = adam.at("lr"),
           .betas = {adam.at("betas")[0], adam.at("betas")[1]},
           .eps = adam.at("eps")});
      std::vector<double> losses;
      for (int64_t i = 0; i < 10; ++i) {
        optimizer.zero_grad();
        const Variable logits =
            model(c["batches.src"][i], c["batches.tgt_input"][i]);
        const Variable loss = cross_entropy(
            logits,
            c["batches.tgt_output"][i],
            {.ignore_index = pad_id,
             .label_smoothing = o.at("label_smoothing")});
        loss.backward();
        if (i == 0) {
          // PyTorch computes padding too.
          const Tensor padding =
              eq(c["batches.tgt_input"][i], pad_id).unsqueeze(-1);
          CHECK(any(padding).item<bool>());
          CHECK(largest(where(padding, logits.value(), 0)) == 0);
          c.check(
              "output", where(padding, c["output"].to(dtype), logits.value()));
          check_parity_gradients(model, c);
        }
        losses.push_back(loss.item<double>());
        optimizer.step();
      }
      // As the model's numbers are: a double holds both.
      c.check("losses", from_vector(losses).to(dtype));
      for (const auto& [key, parameter] : model.named_parameters()) {
        const std::string& name = key;
        CAPTURE(name);
        const Tensor w = parameter.value().to(kFloat64);
        const auto expected = c["final." + name].to_vector<double>();
        const double tolerance = dtype == kFloat32 ? 1e-5 : 1e-12;
        const double squares = sum(w * w).item<double>();
        CHECK(std::abs(squares - expected[1]) <= tolerance * expected[1]);
        // A sum cancels: its error is counted in units of the numbers added.
        const double unit =
            std::sqrt(expected[1] * static_cast<double>(w.numel()));
        CHECK(
            std::abs(sum(w).item<double>() - expected[0]) <= tolerance * unit);
      }
    }
  }
}

TEST_CASE("Transformer: the state has PyTorch's names and shapes") {
  TransformerOptions options = small();
  options.num_encoder_layers = 1;
  options.num_decoder_layers = 1;
  options.norm_first = true;
  options.learned_positions = 6;
  const Transformer model(5, 7, options);
  std::map<std::string, Shape> shapes;
  for (const auto& [name, x] : model.state_dict()) {
    shapes.emplace(name, x.shape());
  }
  const std::map<std::string, Shape> expected = {
      {"decoder.layers.0.linear1.bias", {16}},
      {"decoder.layers.0.linear1.weight", {16, 8}},
      {"decoder.layers.0.linear2.bias", {8}},
      {"decoder.layers.0.linear2.weight", {8, 16}},
      {"decoder.layers.0.multihead_attn.in_proj_bias", {24}},
      {"decoder.layers.0.multihead_attn.in_proj_weight", {24, 8}},
      {"decoder.layers.0.multihead_attn.out_proj.bias", {8}},
      {"decoder.layers.0.multihead_attn.out_proj.weight", {8, 8}},
      {"decoder.layers.0.norm1.bias", {8}},
      {"decoder.layers.0.norm1.weight", {8}},
      {"decoder.layers.0.norm2.bias", {8}},
      {"decoder.layers.0.norm2.weight", {8}},
      {"decoder.layers.0.norm3.bias", {8}},
      {"decoder.layers.0.norm3.weight", {8}},
      {"decoder.layers.0.self_attn.in_proj_bias", {24}},
      {"decoder.layers.0.self_attn.in_proj_weight", {24, 8}},
      {"decoder.layers.0.self_attn.out_proj.bias", {8}},
      {"decoder.layers.0.self_attn.out_proj.weight", {8, 8}},
      {"decoder.norm.bias", {8}},
      {"decoder.norm.weight", {8}},
      {"encoder.layers.0.linear1.bias", {16}},
      {"encoder.layers.0.linear1.weight", {16, 8}},
      {"encoder.layers.0.linear2.bias", {8}},
      {"encoder.layers.0.linear2.weight", {8, 16}},
      {"encoder.layers.0.norm1.bias", {8}},
      {"encoder.layers.0.norm1.weight", {8}},
      {"encoder.layers.0.norm2.bias", {8}},
      {"encoder.layers.0.norm2.weight", {8}},
      {"encoder.layers.0.self_attn.in_proj_bias", {24}},
      {"encoder.layers.0.self_attn.in_proj_weight", {24, 8}},
      {"encoder.layers.0.self_attn.out_proj.bias", {8}},
      {"encoder.layers.0.self_attn.out_proj.weight", {8, 8}},
      {"encoder.norm.bias", {8}},
      {"encoder.norm.weight", {8}},
      {"output_proj.bias", {7}},
      {"output_proj.weight", {7, 8}},
      {"src_embedding.weight", {5, 8}},
      {"src_positions.weight", {6, 8}},
      {"tgt_embedding.weight", {7, 8}},
      {"tgt_positions.weight", {6, 8}},
  };
  CHECK(shapes == expected);
}

TEST_CASE("Transformer: parameters are as many as in the paper's table 3") {
  // A large model need not be built: layers add up, and tied embeddings count
  // once.
  const auto count = [](int64_t vocabulary,
                        int64_t layers,
                        int64_t d_model,
                        int64_t num_heads,
                        int64_t d_ff) {
    return vocabulary * d_model + vocabulary +
           layers * (TransformerEncoderLayer(d_model, num_heads, d_ff)
                         .num_parameters() +
                     TransformerDecoderLayer(d_model, num_heads, d_ff)
                         .num_parameters());
  };
  const Transformer built(
      37,
      37,
      {.num_encoder_layers = 3,
       .num_decoder_layers = 3,
       .d_model = 32,
       .num_heads = 4,
       .d_ff = 64,
       .tie_source_target = true,
       .tie_output = true});
  REQUIRE(built.num_parameters() == count(37, 3, 32, 4, 64));
  struct Row {
    int64_t layers, d_model, num_heads, d_ff;
    double millions;
  };
  for (const Row& row : std::vector<Row>{
           {6, 512, 8, 2048, 65},
           {6, 512, 1, 2048, 65},
           {6, 512, 4, 2048, 65},
           {6, 512, 16, 2048, 65},
           {6, 512, 32, 2048, 65},
           {2, 512, 8, 2048, 36},
           {4, 512, 8, 2048, 50},
           {8, 512, 8, 2048, 80},
           {6, 256, 8, 2048, 28},
           {6, 1024, 8, 2048, 168},
           {6, 512, 8, 1024, 53},
           {6, 512, 8, 4096, 90},
           {6, 1024, 16, 4096, 213}}) {
    CAPTURE(row.millions);
    const auto counted = static_cast<double>(
        count(37000, row.layers, row.d_model, row.num_heads, row.d_ff));
    CHECK(std::abs(counted / 1e6 - row.millions) < 0.07 * row.millions);
  }
}

TEST_CASE("Transformer: a tied weight is one Variable, learnt from all sides") {
  TransformerOptions options = small();
  options.tie_source_target = true;
  options.tie_output = true;
  const Transformer model(9, 9, options);
  const StateDict state = model.state_dict();
  const Tensor weight = state.at("src_embedding.weight");
  CHECK(state.at("tgt_embedding.weight").shares_storage(weight));
  CHECK(state.at("output_proj.weight").shares_storage(weight));
  options.tie_source_target = false;
  const Transformer half(9, 7, options);
  CHECK_FALSE(half.state_dict()
                  .at("src_embedding.weight")
                  .shares_storage(half.state_dict().at("output_proj.weight")));
  CHECK(
      Transformer(9, 9, small()).num_parameters() ==
      model.num_parameters() + 2 * 9 * 8);
}

TEST_CASE("Transformer: stacks start Xavier-uniform, layers different") {
  TransformerOptions options = small();
  options.num_encoder_layers = 3;
  options.num_decoder_layers = 3;
  const Transformer model(11, 11, options);
  const StateDict state = model.state_dict();
  const auto check_uniform = [](const Tensor& x, double bound) {
    CHECK(largest(x) <= bound);
    CHECK(largest(x) > 0.9 * bound);
  };
  for (const auto& [key, x] : state) {
    const std::string& name = key;
    CAPTURE(name);
    if (x.dim() != 2 || name.find("layers.") == std::string::npos) {
      continue;
    }
    if (name.ends_with("in_proj_weight")) {
      // q, k and v [8, 8] stand one above the other.
      const double bound = std::sqrt(6.0 / 16);
      check_uniform(x.slice(0, 0, 16), std::sqrt(0.5) * bound);
      check_uniform(x.slice(0, 16, 24), bound);
    } else {
      const auto fans = static_cast<double>(x.size(0) + x.size(1));
      check_uniform(x, std::sqrt(6.0 / fans));
    }
  }
  check_uniform(state.at("output_proj.weight"), 1 / std::sqrt(8.0));
  for (const auto& [name, x] : state) {
    const size_t at = name.find("layers.0");
    if (at == std::string::npos || x.dim() < 2) {
      continue;
    }
    for (const char* number : {"1", "2"}) {
      std::string other = name;
      other.replace(at + 7, 1, number);
      CAPTURE(other);
      CHECK_FALSE(equal(x, state.at(other)));
    }
  }
}

TEST_CASE("Transformer: embeddings start as large as positions, padding 0") {
  TransformerOptions options = small();
  options.d_model = 64;
  const Transformer model(101, 101, options);
  const StateDict state = model.state_dict();
  for (const char* name : {"src_embedding.weight", "tgt_embedding.weight"}) {
    const Tensor weight = state.at(name);
    CHECK(largest(weight[0]) == 0);
    const Tensor ids = weight.slice(0, 1, 101);
    const double mean_square = 64 * mean(ids * ids).item<double>();
    CHECK(mean_square == doctest::Approx(0.5).epsilon(0.05));
  }
}

TEST_CASE("Transformer: the same seed starts with the same bits") {
  const Transformer one(11, 11, small(4));
  const Transformer same(11, 11, small(4));
  const Transformer other(11, 11, small(5));
  const StateDict a = one.state_dict();
  const StateDict b = same.state_dict();
  for (const auto& [name, x] : a) {
    CHECK(equal(x, b.at(name)));
  }
  CHECK_FALSE(equal(
      a.at("output_proj.weight"), other.state_dict().at("output_proj.weight")));
}

TEST_CASE("Transformer: a later token changes no earlier output, bit for bit") {
  TransformerOptions options = small();
  options.dtype = kFloat32;
  const Transformer model(11, 11, options);
  const Tensor src = drawn_ids({3, 7}, 11, 1);
  const Tensor tgt = drawn_ids({3, 6}, 11, 2);
  const Tensor a = model(src, tgt).value();
  for (int64_t t = 0; t < 6; ++t) {
    Tensor changed = tgt.clone();
    Tensor column = changed.select(1, t);
    column.copy_(
        where(eq(column, 5), full({3}, 6, kInt64), full({3}, 5, kInt64)));
    const Tensor b = model(src, changed).value();
    CHECK(equal(a.slice(1, 0, t), b.slice(1, 0, t)));
    CHECK_FALSE(equal(a.select(1, t), b.select(1, t)));
  }
}

TEST_CASE("Transformer: the amount of padding changes nothing") {
  for (const bool norm_first : {false, true}) {
    TransformerOptions options = small();
    options.norm_first = norm_first;
    const Transformer model(11, 11, options);
    const Tensor src = drawn_ids({2, 5}, 11, 1);
    const Tensor tgt = drawn_ids({2, 4}, 11, 2);
    const Tensor expected = model(src, tgt).value();
    for (const int64_t more : {1, 6}) {
      const Tensor padding = zeros({2, more}, kInt64);
      const Tensor y =
          model(cat({src, padding}, 1), cat({tgt, padding}, 1)).value();
      CHECK(allclose(y.slice(1, 0, 4), expected, 1e-12, 1e-13));
    }
  }
}

TEST_CASE("Transformer: sentences of a batch are what each is alone") {
  for (const bool norm_first : {false, true}) {
    TransformerOptions options = small();
    options.norm_first = norm_first;
    const Transformer model(11, 11, options);
    // 0 is padding, at the end or not.
    const Tensor src = tensor({{3, 4, 5, 6}, {7, 8, 0, 0}, {0, 9, 0, 10}});
    const Tensor tgt = tensor({{1, 5, 0}, {1, 0, 6}, {1, 7, 8}});
    const Tensor targets = tensor({{5, 2, 0}, {6, 0, 2}, {7, 8, 2}});
    const auto loss = [](const Variable& logits, const Tensor& wanted) {
      return cross_entropy(
          logits, wanted, {.ignore_index = 0, .reduction = Reduction::sum});
    };
    AttentionWeights weights;
    const Variable logits = model.forward(src, tgt, &weights);
    const Tensor plain = model(src, tgt).value();
    CHECK(allclose(plain, logits.value(), 1e-12, 1e-13));
    CHECK(equal(model.decode(tgt, model.encode(src), src).value(), plain));
    loss(logits, targets).backward();
    std::map<std::string, Tensor> together;
    for (const auto& [name, parameter] : model.named_parameters()) {
      together[name] = parameter.grad().value().clone();
    }
    model.zero_grad();
    for (int64_t b = 0; b < 3; ++b) {
      AttentionWeights own;
      const Tensor s = src.slice(0, b, b + 1);
      const Tensor t = tgt.slice(0, b, b + 1);
      const Variable alone = model.forward(s, t, &own);
      CHECK(allclose(logits.value()[b], alone.value()[0], 1e-12, 1e-13));
      loss(alone, targets.slice(0, b, b + 1)).backward();
      const auto check_weights = [&](const std::vector<Variable>& all,
                                     const std::vector<Variable>& one) {
        REQUIRE(all.size() == one.size());
        for (size_t i = 0; i < all.size(); ++i) {
          CHECK(allclose(all[i].value()[b], one[i].value()[0], 1e-12, 1e-13));
        }
      };
      check_weights(weights.encoder, own.encoder);
      check_weights(weights.decoder_self, own.decoder_self);
      check_weights(weights.decoder_cross, own.decoder_cross);
    }
    for (const auto& [key, parameter] : model.named_parameters()) {
      const std::string& name = key;
      CAPTURE(name);
      CHECK(allclose(together[name], parameter.grad().value(), 1e-10, 1e-12));
    }
  }
}

TEST_CASE(
    "Transformer: where padding is there are zeros, and weights elsewhere") {
  const Transformer model(11, 11, small());
  const Tensor src = tensor({{3, 0, 5, 6}, {7, 8, 0, 0}});
  const Tensor tgt = tensor({{1, 0, 4}, {1, 5, 6}});
  AttentionWeights weights;
  const Variable logits = model.forward(src, tgt, &weights);
  const Tensor no_src = eq(src, 0);  // [2, 4]
  const Tensor no_tgt = eq(tgt, 0);  // [2, 3]
  const auto check = [](const Tensor& x, const Tensor& padding) {
    CHECK(equal(eq(x, 0), padding.expand(x.shape())));
  };
  check(model.encode(src).value(), no_src.unsqueeze(-1));
  check(logits.value(), no_tgt.unsqueeze(-1));
  const auto hidden = [](const Tensor& queries, const Tensor& keys) {
    return logical_or(
        queries.unsqueeze(1).unsqueeze(-1), keys.unsqueeze(1).unsqueeze(1));
  };
  for (size_t i = 0; i < 2; ++i) {
    check(weights.encoder[i].value(), hidden(no_src, no_src));
    check(weights.decoder_cross[i].value(), hidden(no_tgt, no_src));
    check(
        weights.decoder_self[i].value(),
        logical_or(hidden(no_tgt, no_tgt), causal_mask(3, 3)));
  }
}

TEST_CASE("Transformer: with dropout, padding gives zeros all the same") {
  TransformerOptions options = small();
  options.dropout = 0.3;
  options.attention_dropout = 0.3;
  const Transformer model(11, 11, options);
  const Tensor src = tensor({{3, 4, 5}, {7, 8, 0}});
  const Tensor tgt = tensor({{1, 5, 6}, {1, 7, 0}});
  const auto logits = [&] {
    options.generator.set_seed(9);
    return model(src, tgt).value();
  };
  const Tensor y = logits();
  CHECK(equal(logits(), y));
  CHECK(equal(eq(y, 0), eq(tgt, 0).unsqueeze(-1).expand({2, 3, 11})));
  CHECK(all_finite(y));
}

TEST_CASE("Transformer: without a pad_id every token is attended to") {
  const Transformer padded(11, 11, small());
  TransformerOptions options = small();
  options.pad_id = std::nullopt;
  const Transformer unpadded(11, 11, options);
  const Tensor src = tensor({{3, 4, 0}});
  const Tensor tgt = tensor({{1, 2}});
  AttentionWeights weights;
  padded.forward(src, tgt, &weights);
  CHECK(largest(weights.encoder[0].value().select(3, 2)) == 0);
  unpadded.forward(src, tgt, &weights);
  CHECK(largest(weights.encoder[0].value().select(3, 2)) > 0);
}

TEST_CASE("Transformer: the order within the batch changes nothing") {
  TransformerOptions options = small();
  options.dtype = kFloat32;
  const Transformer model(11, 11, options);
  Tensor src = drawn_ids({5, 7}, 11, 1);
  src[2].slice(0, 4, 7).zero_();
  const Tensor tgt = drawn_ids({5, 6}, 11, 2);
  const Tensor order = tensor({3, 0, 4, 2, 1});
  const Tensor a = index_select(model(src, tgt).value(), 0, order);
  const Tensor b =
      model(index_select(src, 0, order), index_select(tgt, 0, order)).value();
  CHECK(allclose(a, b, 1e-6, 1e-6));
}

TEST_CASE("Transformer: every parameter learns but the bias of the keys") {
  for (const bool norm_first : {false, true}) {
    TransformerOptions options = small();
    options.norm_first = norm_first;
    options.learned_positions = 8;
    const Transformer model(11, 11, options);
    const Tensor tgt = drawn_ids({4, 7}, 11, 2);
    cross_entropy(
        model(drawn_ids({4, 6}, 11, 1), tgt.slice(1, 0, 6)), tgt.slice(1, 1, 7))
        .backward();
    for (const auto& [key, parameter] : model.named_parameters()) {
      const std::string& name = key;
      CAPTURE(name);
      REQUIRE(parameter.grad().defined());
      const Tensor dx = parameter.grad().value();
      if (name.ends_with("in_proj_bias")) {
        CHECK(largest(dx.slice(0, 0, 8)) > 1e-8);
        CHECK(largest(dx.slice(0, 8, 16)) < 1e-14);  // cancels in the softmax
        CHECK(largest(dx.slice(0, 16, 24)) > 1e-8);
      } else {
        CHECK(largest(dx) > 1e-8);
      }
    }
  }
}

TEST_CASE("Transformer: a source of padding only harms nobody else") {
  for (const bool norm_first : {false, true}) {
    TransformerOptions options = small();
    options.norm_first = norm_first;
    const Transformer model(11, 11, options);
    Tensor src = drawn_ids({3, 5}, 11, 1);
    src[1].zero_();
    Tensor tgt = drawn_ids({3, 4}, 11, 2);
    tgt[1].zero_();
    const Variable logits = model(src, tgt);
    CHECK(all_finite(logits.value()));
    cross_entropy(logits, tgt, {.ignore_index = 0}).backward();
    for (const auto& [key, parameter] : model.named_parameters()) {
      const std::string& name = key;
      CAPTURE(name);
      CHECK(all_finite(parameter.grad().value()));
    }
    const Tensor alone = model(src.slice(0, 0, 1), tgt.slice(0, 0, 1)).value();
    CHECK(allclose(logits.value()[0], alone[0], 1e-12, 1e-13));
  }
}

TEST_CASE("Transformer: all attention weights on request, rows summing to 1") {
  const Transformer model(11, 11, small());
  Tensor src = drawn_ids({2, 5}, 11, 1);
  src[1][4].zero_();
  const Tensor tgt = drawn_ids({2, 4}, 11, 2);
  AttentionWeights weights;
  for (int call = 0; call < 2; ++call) {
    const Variable y = model.forward(src, tgt, &weights);
    CHECK(allclose(y.value(), model(src, tgt).value(), 1e-13, 1e-14));
    REQUIRE(weights.encoder.size() == 2);
    REQUIRE(weights.decoder_self.size() == 2);
    REQUIRE(weights.decoder_cross.size() == 2);
    CHECK(weights.encoder[0].shape() == Shape({2, 2, 5, 5}));
    CHECK(weights.decoder_self[0].shape() == Shape({2, 2, 4, 4}));
    CHECK(weights.decoder_cross[1].shape() == Shape({2, 2, 4, 5}));
    const Tensor cross = weights.decoder_cross[1].value();
    CHECK(allclose(sum(cross, 3), ones({2, 2, 4}, kFloat64), 1e-12));
    CHECK(largest(cross[1].select(2, 4)) == 0);
    CHECK(
        largest(weights.decoder_self[0].value().select(2, 0).slice(2, 1, 4)) ==
        0);
  }
}

TEST_CASE("Transformer: encode and decode are the halves of forward") {
  const Transformer model(11, 9, small());
  const Tensor src = drawn_ids({2, 5}, 11, 1);
  const Tensor tgt = drawn_ids({2, 4}, 9, 2);
  const Variable memory = model.encode(src);
  CHECK(memory.shape() == Shape({2, 5, 8}));
  CHECK(equal(model.decode(tgt, memory, src).value(), model(src, tgt).value()));
  CHECK(model(src, tgt).shape() == Shape({2, 4, 9}));
  CHECK(model.tgt_vocab_size() == 9);
}

TEST_CASE("Transformer: empty batches and sequences train without harm") {
  struct Sizes {
    int64_t batch, source, target;
  };
  for (const Sizes& sizes :
       std::vector<Sizes>{{0, 5, 4}, {2, 5, 0}, {2, 0, 4}, {0, 0, 0}}) {
    const auto [batch, source, target] = sizes;
    CAPTURE(sizes.batch);
    CAPTURE(sizes.source);
    CAPTURE(sizes.target);
    TransformerOptions options = small();
    options.dropout = 0.1;
    const Transformer model(11, 11, options);
    const Tensor src = ones({batch, source}, kInt64);
    const Tensor tgt = ones({batch, target}, kInt64);
    const Variable logits = model(src, tgt);
    CHECK(logits.shape() == Shape({batch, target, 11}));
    CHECK(all_finite(logits.value()));
    const Variable loss = cross_entropy(logits, tgt);
    if (batch * target == 0) {
      CHECK(loss.item<double>() == 0);
    }
    loss.backward();
    for (const auto& [key, parameter] : model.named_parameters()) {
      const std::string& name = key;
      CAPTURE(name);
      REQUIRE(parameter.grad().defined());
      CHECK(all_finite(parameter.grad().value()));
    }
  }
}

TEST_CASE("Transformer: bad sizes are errors, before anything is made") {
  const auto message =
      [](int64_t src, int64_t tgt, TransformerOptions options) {
        try {
          const Transformer model(src, tgt, options);
        } catch (const std::invalid_argument& error) {
          return std::string(error.what());
        }
        return std::string();
      };
  const auto with = [](auto change) {
    TransformerOptions options = small();
    change(options);
    return options;
  };
  using Options = TransformerOptions;
  CHECK(
      message(9, 9, with([](Options& o) { o.num_heads = 3; })) ==
      "MultiHeadAttention: d_model must be divisible by num_heads, both "
      "positive, got d_model = 8 and num_heads = 3");
  CHECK(
      message(0, 9, small()) ==
      "Transformer: vocabulary sizes must be positive, got 0 and 9");
  CHECK(
      message(9, 5, with([](Options& o) { o.pad_id = 5; })) ==
      "Transformer: pad_id must be in [0, 5), an id of both vocabularies, got "
      "5");
  CHECK(
      message(9, 8, with([](Options& o) { o.tie_source_target = true; })) ==
      "Transformer: tie_source_target must have vocabularies of one size, got "
      "9 and 8");
  for (const Options& options :
       {with([](Options& o) { o.num_encoder_layers = -1; }),
        with([](Options& o) { o.num_decoder_layers = -1; }),
        with([](Options& o) { o.d_model = 0; }),
        with([](Options& o) { o.d_ff = 0; }),
        with([](Options& o) { o.dropout = 1.5; }),
        with([](Options& o) { o.attention_dropout = -0.5; }),
        with([](Options& o) { o.activation_dropout = NAN; }),
        with([](Options& o) { o.norm_eps = 0; }),
        with([](Options& o) { o.pad_id = -1; }),
        with([](Options& o) { o.learned_positions = -1; }),
        with([](Options& o) { o.dtype = kInt64; })}) {
    CHECK_FALSE(message(9, 9, options).empty());
  }
}

TEST_CASE("Transformer: ids that do not fit are errors") {
  TransformerOptions options = small();
  options.learned_positions = 4;
  const Transformer model(11, 9, options);
  const Tensor src = ones({2, 3}, kInt64);
  const Tensor tgt = ones({2, 4}, kInt64);
  const auto refuses = [&](const Tensor& s, const Tensor& t) {
    CHECK_THROWS_AS(model(s, t), std::invalid_argument);
  };
  CHECK_THROWS_WITH_AS(
      model(src, ones({3, 4}, kInt64)),
      "Transformer: src and tgt must hold as many sequences, got [2, 3] and "
      "[3, 4]",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      model(src.to(kFloat32), tgt),
      "Transformer: src must be int64 ids of shape [B, T], got float32 [2, 3]",
      std::invalid_argument);
  refuses(src, tgt[0]);
  refuses(Tensor(), tgt);
  refuses(src, Tensor());
  refuses(full({2, 3}, 11, kInt64), tgt);
  refuses(full({2, 3}, -1, kInt64), tgt);
  refuses(src, full({2, 4}, 9, kInt64));
  refuses(ones({2, 5}, kInt64), tgt);  // more than there are positions
  CHECK_THROWS_AS(
      model.decode(tgt, ones({2, 5, 8}, kFloat64), src), std::invalid_argument);
  CHECK_THROWS_AS(
      model.decode(tgt, ones({2, 3, 8}), src), std::invalid_argument);
}

TEST_CASE("Transformer: a NaN in the weights reaches the outputs") {
  Transformer model(11, 11, small());
  model.state_dict().at("output_proj.weight")[3][0].fill_(NAN);
  const Tensor y = model(ones({1, 2}, kInt64), ones({1, 2}, kInt64)).value();
  CHECK(all(isnan(y.select(2, 3))).item<bool>());
  CHECK(all_finite(y.select(2, 2)));
}

TEST_CASE("Transformer: the same bits of training for 1, 2 and 4 threads") {
  const int before = num_threads();
  std::vector<std::vector<Tensor>> results;
  for (const int threads : {1, 2, 4, 2}) {
    set_num_threads(threads);
    Generator generator(3);
    Transformer model(
        200,
        200,
        {.num_encoder_layers = 1,
         .num_decoder_layers = 1,
         .d_model = 64,
         .num_heads = 4,
         .d_ff = 256,
         .dropout = 0.1,
         .attention_dropout = 0.1,
         .tie_source_target = true,
         .tie_output = true,
         .generator = generator});
    Adam optimizer(model.parameters(), {.lr = 1e-3});
    const Tensor src = drawn_ids({16, 30}, 200, 1);
    const Tensor tgt = drawn_ids({16, 33}, 200, 2);
    std::vector<Tensor> result;
    for (int step = 0; step < 3; ++step) {
      optimizer.zero_grad();
      const Variable loss = cross_entropy(
          model(src, tgt.slice(1, 0, 32)),
          tgt.slice(1, 1, 33),
          {.label_smoothing = 0.1});
      loss.backward();
      optimizer.step();
      result.push_back(loss.value().clone());
    }
    for (const Variable& parameter : model.parameters()) {
      result.push_back(parameter.value());
      result.push_back(parameter.grad().value());
    }
    results.push_back(std::move(result));
  }
  set_num_threads(before);
  for (const std::vector<Tensor>& result : results) {
    REQUIRE(result.size() == results[0].size());
    for (size_t i = 0; i < result.size(); ++i) {
      CHECK(equal(result[i], results[0][i]));
    }
  }
}

TEST_CASE("Transformer: nodes and tensors are back after every step") {
  TransformerOptions options = small();
  options.dropout = 0.1;
  options.attention_dropout = 0.1;
  const Transformer model(11, 11, options);
  Adam optimizer(model.parameters());
  const Tensor src = drawn_ids({4, 6}, 11, 1);
  const Tensor tgt = drawn_ids({4, 7}, 11, 2);
  int64_t nodes = 0;
  int64_t tensors = 0;
  int64_t bytes = 0;
  for (int step = 0; step < 6; ++step) {
    if (step == 3) {
      model(src, tgt);  // and a forward without backward leaves nothing
    } else {
      cross_entropy(model(src, tgt.slice(1, 0, 6)), tgt.slice(1, 1, 7))
          .backward();
      optimizer.step();
      optimizer.zero_grad();
    }
    const MemoryStats stats = memory_stats();
    if (step > 0) {
      CHECK(live_nodes() == nodes);
      CHECK(stats.live_tensors == tensors);
      CHECK(stats.live_bytes == bytes);
    }
    nodes = live_nodes();
    tensors = stats.live_tensors;
    bytes = stats.live_bytes;
  }
}
