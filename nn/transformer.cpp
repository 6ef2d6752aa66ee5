#include "nn/transformer.h"

#include <algorithm>
#include <cmath>

#include "autograd/elementwise.h"
#include "autograd/grad_mode.h"
#include "autograd/packing.h"
#include "nn/init.h"
#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/joining.h"
#include "tensor/reduction.h"

namespace heed {
namespace {

TransformerLayerOptions layer_options(const TransformerOptions& o) {
  return {
      .dropout = o.dropout,
      .attention_dropout = o.attention_dropout,
      .activation_dropout = o.activation_dropout,
      .activation = o.activation,
      .norm_first = o.norm_first,
      .final_norm = o.final_norm,
      .norm_eps = o.norm_eps,
      .bias = o.bias,
      .dtype = o.dtype,
      .generator = o.generator};
}

EmbeddingOptions embedding_options(const TransformerOptions& o) {
  return {o.pad_id, o.dtype, o.generator};
}

std::unique_ptr<PositionalEncoding> make_positions(
    const TransformerOptions& o) {
  if (o.learned_positions == 0) {
    return std::make_unique<SinusoidalPositionalEncoding>(o.d_model);
  }
  return std::make_unique<LearnedPositionalEncoding>(
      o.learned_positions,
      o.d_model,
      LearnedPositionalEncodingOptions{o.dtype, o.generator});
}

void check_sequences(const char* name, const Tensor& ids) {
  check_defined("Transformer", ids, name);
  if (ids.dtype() != kInt64 || ids.dim() != 2) {
    fail(
        "Transformer",
        name,
        " must be int64 ids of shape [B, T], got ",
        ids.dtype(),
        " ",
        ids.shape());
  }
}

void check_batches(const Tensor& src, const Tensor& tgt) {
  check_sequences("src", src);
  check_sequences("tgt", tgt);
  if (tgt.size(0) != src.size(0)) {
    fail(
        "Transformer",
        "src and tgt must hold as many sequences, got ",
        src.shape(),
        " and ",
        tgt.shape());
  }
}

/// From weights [B, num_heads, T, S] of aligned sequences to each at its place.
Variable at_places(
    const Variable& weights, const Packing& queries, const Packing& keys) {
  const auto place = [](const Variable& x, const Packing& packing) {
    return packing.is_aligned() ? x
                                : unpack(pack(x, packing.aligned()), packing);
  };
  const Variable rows = place(weights.transpose(1, 2), queries);
  return place(rows.transpose(1, 3), keys)  // [B, S, num_heads, T]
      .permute({0, 2, 3, 1});
}

void put_in_places(
    std::vector<Variable>& weights,
    const Packing& queries,
    const Packing& keys) {
  for (Variable& layer : weights) {
    layer = at_places(layer, queries, keys);
  }
}

}  // namespace

const TransformerOptions& Transformer::checked(
    int64_t src_vocab_size,
    int64_t tgt_vocab_size,
    const TransformerOptions& options) {
  const int64_t smaller = std::min(src_vocab_size, tgt_vocab_size);
  if (smaller <= 0) {
    fail(
        "Transformer",
        "vocabulary sizes must be positive, got ",
        src_vocab_size,
        " and ",
        tgt_vocab_size);
  }
  if (options.pad_id && (*options.pad_id < 0 || *options.pad_id >= smaller)) {
    fail(
        "Transformer",
        "pad_id must be in [0, ",
        smaller,
        "), an id of both vocabularies, got ",
        *options.pad_id);
  }
  if (options.tie_source_target && src_vocab_size != tgt_vocab_size) {
    fail(
        "Transformer",
        "tie_source_target must have vocabularies of one size, got ",
        src_vocab_size,
        " and ",
        tgt_vocab_size);
  }
  return options;
}

Transformer::Transformer(
    int64_t src_vocab_size,
    int64_t tgt_vocab_size,
    const TransformerOptions& options)
    : options_(checked(src_vocab_size, tgt_vocab_size, options)),
      tgt_vocab_size_(tgt_vocab_size),
      src_embedding_(
          src_vocab_size, options.d_model, embedding_options(options)),
      tgt_embedding_(
          tgt_vocab_size, options.d_model, embedding_options(options)),
      src_positions_(make_positions(options)),
      tgt_positions_(make_positions(options)),
      dropout_({options.dropout, options.generator}),
      encoder_(
          options.num_encoder_layers,
          options.d_model,
          options.num_heads,
          options.d_ff,
          layer_options(options)),
      decoder_(
          options.num_decoder_layers,
          options.d_model,
          options.num_heads,
          options.d_ff,
          layer_options(options)),
      output_proj_(
          options.d_model,
          tgt_vocab_size,
          {options.output_bias, options.dtype, options.generator}) {
  add_module("src_embedding", src_embedding_);
  add_module("tgt_embedding", tgt_embedding_);
  add_module("src_positions", *src_positions_);
  add_module("tgt_positions", *tgt_positions_);
  add_module("dropout", dropout_);
  add_module("encoder", encoder_);
  add_module("decoder", decoder_);
  add_module("output_proj", output_proj_);
  initialize();
  if (options.tie_source_target) {
    tgt_embedding_.tie_weight(src_embedding_.weight());
  }
  if (options.tie_output) {
    output_proj_.tie_weight(tgt_embedding_.weight());
  }
}

void Transformer::initialize() {
  const init::InitOptions start{options_.dtype, options_.generator};
  for (const Module* stack :
       {static_cast<const Module*>(&encoder_),
        static_cast<const Module*>(&decoder_)}) {
    for (const auto& [name, parameter] : stack->named_parameters()) {
      // The attentions have started theirs, three matrices in one.
      if (parameter.dim() > 1 && !name.ends_with("in_proj_weight")) {
        Tensor weight = parameter.value();
        weight.copy_(init::xavier_uniform(weight.shape(), 1, start));
      }
    }
  }
  // Times sqrt(d_model) as large as sinusoidal positions, whose mean square is
  // 1/2.
  const double std = 1 / std::sqrt(2.0 * static_cast<double>(options_.d_model));
  for (Embedding* embedding : {&src_embedding_, &tgt_embedding_}) {
    embedding->set_weight(
        init::normal(embedding->weight().shape(), 0, std, start));
  }
}

Tensor Transformer::padding_of(const Tensor& ids) const {
  return options_.pad_id ? eq(ids, *options_.pad_id) : Tensor();
}

Packing Transformer::packing_of(const Tensor& ids) const {
  return options_.pad_id ? Packing(padding_of(ids))
                         : Packing(ids.size(0), ids.size(1));
}

Variable Transformer::embed(
    const Embedding& embedding,
    const PositionalEncoding& positions,
    const Tensor& ids,
    int64_t offset) const {
  const double scale = std::sqrt(static_cast<double>(options_.d_model));
  return dropout_(positions.forward(embedding(ids) * scale, offset));
}

Variable Transformer::encode_packed(
    const Tensor& src,
    const Packing& packing,
    AttentionWeights* weights) const {
  const Variable memory = encoder_.forward(
      pack(embed(src_embedding_, *src_positions_, src), packing),
      {.query_packing = packing, .key_packing = packing},
      weights == nullptr ? nullptr : &weights->encoder);
  if (weights != nullptr) {
    put_in_places(weights->encoder, packing, packing);
  }
  return memory;
}

Variable Transformer::decode_packed(
    const Tensor& tgt,
    const Variable& memory,
    const Packing& memory_packing,
    AttentionWeights* weights) const {
  const Packing packing = packing_of(tgt);
  const Variable y = decoder_.forward(
      pack(embed(tgt_embedding_, *tgt_positions_, tgt), packing),
      memory,
      {.self =
           {.is_causal = true,
            .query_packing = packing,
            .key_packing = packing},
       .cross = {.query_packing = packing, .key_packing = memory_packing}},
      weights == nullptr ? nullptr : &weights->decoder_self,
      weights == nullptr ? nullptr : &weights->decoder_cross);
  if (weights != nullptr) {
    put_in_places(weights->decoder_self, packing, packing);
    put_in_places(weights->decoder_cross, packing, memory_packing);
  }
  return unpack(output_proj_(y), packing);
}

Variable Transformer::encode(
    const Tensor& src, AttentionWeights* weights) const {
  check_sequences("src", src);
  const Packing packing = packing_of(src);
  return unpack(encode_packed(src, packing, weights), packing);
}

Variable Transformer::decode(
    const Tensor& tgt,
    const Variable& memory,
    const Tensor& src,
    AttentionWeights* weights) const {
  check_batches(src, tgt);
  const Shape wanted = {src.size(0), src.size(1), options_.d_model};
  check_defined("Transformer", memory.value(), "memory");
  if (memory.shape() != wanted) {
    fail(
        "Transformer",
        "memory must have shape [B, S, d_model] = ",
        wanted,
        ", got ",
        memory.shape());
  }
  const Packing packing = packing_of(src);
  return decode_packed(tgt, pack(memory, packing), packing, weights);
}

Variable Transformer::forward(
    const Tensor& src, const Tensor& tgt, AttentionWeights* weights) const {
  check_batches(src, tgt);
  const Packing packing = packing_of(src);
  return decode_packed(
      tgt, encode_packed(src, packing, weights), packing, weights);
}

DecodingState Transformer::start_decoding(const Tensor& src) const {
  const NoGradGuard no_grad;
  return {
      .layers = decoder_.start(encode(src)),
      .batch = src.size(0),
      .rows_per_source = 1,
      .memory_padding = padding_of(src),
      .padding = {},
      .position = 0};
}

Tensor Transformer::decode_step(
    const Tensor& tokens, DecodingState& state) const {
  const NoGradGuard no_grad;
  check_defined("Transformer", tokens, "tokens");
  if (tokens.dtype() != kInt64 || tokens.shape() != Shape({state.batch})) {
    fail(
        "Transformer",
        "tokens must be int64 ids of shape [rows] = [",
        state.batch,
        "], got ",
        tokens.dtype(),
        " ",
        tokens.shape());
  }
  const Tensor ids = tokens.unsqueeze(1);  // [rows, 1]
  const Variable x =
      embed(tgt_embedding_, *tgt_positions_, ids, state.position);
  const Tensor is_padding = padding_of(ids);
  if (is_padding.defined()) {
    if (state.padding.defined() || any(is_padding).item<bool>()) {
      state.padding =
          cat({state.padding.defined()
                   ? state.padding
                   : zeros({state.batch, state.position}, kBool),
               is_padding},
              1);
    }
  }
  const Variable y =
      decoder_.step(x, state.layers, state.memory_padding, state.padding);
  ++state.position;
  const Tensor logits = output_proj_(y.select(1, 0)).value();
  return is_padding.defined() ? masked_fill(logits, is_padding, 0) : logits;
}

}  // namespace heed
