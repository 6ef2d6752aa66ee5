// The other half of exchange.py: one file, written and read by PyTorch and heed
// in turn.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "autograd/cross_entropy.h"
#include "autograd/elementwise.h"
#include "nn/embedding.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"
#include "nn/multi_head_attention.h"
#include "nn/transformer_decoder.h"
#include "nn/transformer_encoder.h"
#include "optim/adam.h"
#include "tensor/comparison.h"
#include "tensor/safetensors.h"
#include "tests/temporary_folder.h"

using namespace heed;

namespace {

constexpr int64_t kVocabulary = 11;
constexpr int64_t kDModel = 8;
constexpr int64_t kNumHeads = 2;
constexpr int64_t kDFf = 16;
constexpr AdamOptions kAdam = {.lr = 0.01, .betas = {0.9, 0.98}, .eps = 1e-4};

const std::string kFile = HEED_SOURCE_DIR "/tests/parity/exchange.safetensors";

/// torch.nn.Transformer: both stacks, each with a norm behind it.
class Stacks : public Module {
 public:
  Stacks()
      : encoder(1, kDModel, kNumHeads, kDFf, options()),
        decoder(2, kDModel, kNumHeads, kDFf, options()) {
    add_module("encoder", encoder);
    add_module("decoder", decoder);
  }

  TransformerEncoder encoder;
  TransformerDecoder decoder;

 private:
  static TransformerLayerOptions options() {
    return {.dropout = 0, .final_norm = true};
  }
};

class Model : public Module {
 public:
  Model()
      : embedding_(kVocabulary, kDModel, {.padding_idx = 0}),
        norm_(kDModel),
        attention_(kDModel, kNumHeads),
        output_(kDModel, kVocabulary) {
    add_module("embedding", embedding_);
    add_module("norm", norm_);
    add_module("attention", attention_);
    add_module("transformer", transformer_);
    add_module("output", output_);
  }

  Variable forward(const Tensor& src, const Tensor& tgt) const {
    const Tensor padding = eq(src, 0);  // [B, S]
    Variable x = norm_(embedding_(src));
    x = x +
        attention_.forward(x, {.mask = {.key_padding_mask = padding}}).output;
    const Variable memory =
        transformer_.encoder.forward(x, {.key_padding_mask = padding});
    DecoderMaskOptions masks;
    masks.cross.key_padding_mask = padding;
    return output_(
        transformer_.decoder.forward(embedding_(tgt), memory, masks));
  }

 private:
  Embedding embedding_;
  LayerNorm norm_;
  MultiHeadAttention attention_;
  Stacks transformer_;
  Linear output_;
};

/// The tensors whose names begin with `prefix`, without it.
StateDict below(const std::string& prefix, const StateDict& tensors) {
  StateDict result;
  for (const auto& [name, x] : tensors) {
    if (name.starts_with(prefix)) {
      result[name.substr(prefix.size())] = x;
    }
  }
  return result;
}

/// Adds copies of `tensors`, their names prefixed.
void put(StateDict& all, const std::string& prefix, const StateDict& tensors) {
  for (const auto& [name, x] : tensors) {
    all[prefix + name] = x.clone();
  }
}

std::string parameter_names(const Model& model) {
  std::string names;
  for (const auto& [name, parameter] : model.named_parameters()) {
    names += (names.empty() ? "" : " ") + name;
  }
  return names;
}

/// One update; returns the logits before it.
Tensor step(Model& model, Adam& optimizer, const StateDict& tensors) {
  optimizer.zero_grad();
  const Variable logits =
      model.forward(tensors.at("data.src"), tensors.at("data.tgt"));
  const Variable loss =
      cross_entropy(logits, tensors.at("data.labels"), {.ignore_index = 0});
  loss.backward();
  optimizer.step();
  return logits.value();
}

double largest_difference(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector<double>();
  const std::vector<double> y = b.to_vector<double>();
  REQUIRE(a.shape() == b.shape());
  double largest = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double difference = std::abs(x[i] - y[i]);
    largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
  }
  return largest;
}

}  // namespace

TEST_CASE("exchange: heed goes on from PyTorch's model and optimizer") {
  const Safetensors file = load_safetensors(kFile);
  Model model;
  Adam optimizer(model.parameters(), kAdam);
  CHECK(parameter_names(model) == file.metadata.at("parameters"));
  model.load_state_dict(below("model.", file.tensors));
  optimizer.load_state_dict(below("optimizer.", file.tensors));
  CHECK(optimizer.steps() == 2);

  const Tensor logits = step(model, optimizer, file.tensors);
  CHECK(largest_difference(logits, file.tensors.at("logits")) <= 1e-5);
  for (const auto& [key, expected] : below("next.", file.tensors)) {
    const std::string& name = key;
    CAPTURE(name);
    CHECK(largest_difference(model.state_dict().at(name), expected) <= 1e-5);
  }
}

TEST_CASE("exchange: heed writes what PyTorch wrote, byte for byte") {
  const Safetensors file = load_safetensors(kFile);
  Model model;
  Adam optimizer(model.parameters(), kAdam);
  model.load_state_dict(below("model.", file.tensors));
  optimizer.load_state_dict(below("optimizer.", file.tensors));

  StateDict tensors;
  put(tensors, "data.", below("data.", file.tensors));
  put(tensors, "next.", below("next.", file.tensors));
  put(tensors, "model.", model.state_dict());
  put(tensors, "optimizer.", optimizer.state_dict());
  tensors["logits"] = file.tensors.at("logits");
  const TemporaryFolder folder;
  save_safetensors(
      folder / "x.safetensors",
      tensors,
      {{"parameters", parameter_names(model)}});
  CHECK(read_bytes(folder / "x.safetensors") == read_bytes(kFile));
}

TEST_CASE("exchange: a file of heed's own training") {
  const StateDict data = load_safetensors(kFile).tensors;
  Model model;
  Adam optimizer(model.parameters(), kAdam);
  for (int i = 0; i < 5; ++i) {
    step(model, optimizer, data);
  }
  StateDict tensors;
  put(tensors, "data.", below("data.", data));
  put(tensors, "model.", model.state_dict());
  put(tensors, "optimizer.", optimizer.state_dict());
  tensors["logits"] = step(model, optimizer, data).clone();
  put(tensors, "next.", model.state_dict());

  // exchange.py reads the file when the environment says where to leave it.
  const TemporaryFolder folder;
  const char* const wanted = std::getenv("HEED_EXCHANGE");
  const std::string path = wanted ? wanted : folder / "x.safetensors";
  save_safetensors(path, tensors, {{"parameters", parameter_names(model)}});
  const StateDict loaded = load_safetensors(path).tensors;
  Model other;
  Adam other_optimizer(other.parameters(), kAdam);
  other.load_state_dict(below("model.", loaded));
  other_optimizer.load_state_dict(below("optimizer.", loaded));
  CHECK(
      largest_difference(
          step(other, other_optimizer, loaded), loaded.at("logits")) == 0);
  const StateDict next = other.state_dict();
  for (const auto& [name, expected] : below("next.", loaded)) {
    CHECK(largest_difference(next.at(name), expected) == 0);
  }
}
