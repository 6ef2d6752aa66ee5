#include "bench/libtorch/lean_model.h"

#include <cmath>
#include <limits>
#include <string>

namespace bench {

LeanModel::LeanModel(const Seq2SeqWorkload& workload) : Seq2SeqModel(workload) {
  LeanLayerOptions options{
      .d_model = workload.d_model,
      .num_heads = workload.num_heads,
      .d_ff = workload.d_ff,
      .dropout = workload.dropout,
      .is_decoder = false};
  for (int64_t i = 0; i < workload.layers; ++i) {
    options.is_decoder = false;
    encoder_.push_back(
        register_module("encoder" + std::to_string(i), LeanLayer(options)));
    options.is_decoder = true;
    decoder_.push_back(
        register_module("decoder" + std::to_string(i), LeanLayer(options)));
  }
  const torch::nn::LayerNormOptions norm({workload.d_model});
  encoder_norm_ = register_module("encoder_norm", torch::nn::LayerNorm(norm));
  decoder_norm_ = register_module("decoder_norm", torch::nn::LayerNorm(norm));
  start_xavier_uniform();
}

Tensor LeanModel::encode(const Tensor& src, const Tensor& src_padding) {
  const Tensor mask = padding_mask(src_padding);
  Tensor x = embed(src_embedding_, src);
  for (LeanLayer& layer : encoder_) {
    x = layer->forward(x, mask);
  }
  return encoder_norm_(x);
}

Tensor LeanModel::decode(
    const Tensor& memory,
    const Tensor& src_padding,
    const Tensor& tgt,
    const Tensor& tgt_padding) {
  Tensor mask = causal_mask(tgt.size(1)).unsqueeze(0);
  if (tgt_padding.defined()) {
    mask = padding_mask(tgt_padding) + mask;
  }
  const Tensor memory_mask = padding_mask(src_padding);
  Tensor x = embed(tgt_embedding(), tgt);
  for (LeanLayer& layer : decoder_) {
    x = layer->forward(x, mask, memory, memory_mask);
  }
  return decoder_norm_(x);
}

Tensor LeanModel::last_position(const Tensor& decoded) const {
  return decoded.select(1, decoded.size(1) - 1);
}

Tensor LeanModel::in_order(const Tensor& targets) const {
  return targets.reshape(-1);
}

Tensor LeanModel::decode_greedily(const Tensor& src, int64_t steps) {
  const Tensor memory = encode(src, {});
  const int64_t batch = src.size(0);
  const int64_t heads = workload_.num_heads;
  const int64_t head_dim = workload_.d_model / heads;
  struct Cache {
    Tensor k, v;  // [B * num_heads, steps, head_dim]
    std::pair<Tensor, Tensor> memory;
  };
  std::vector<Cache> caches;
  for (LeanLayer& layer : decoder_) {
    caches.push_back(
        {at::empty({batch * heads, steps, head_dim}),
         at::empty({batch * heads, steps, head_dim}),
         layer->cross_attention->keys_values(memory)});
  }
  Tensor token = torch::ones({batch, 1}, torch::kLong);
  std::vector<Tensor> tokens;
  for (int64_t step = 0; step < steps; ++step) {
    Tensor x = embed(tgt_embedding(), token, step);  // [B, 1, d_model]
    for (size_t i = 0; i < decoder_.size(); ++i) {
      LeanLayer& layer = decoder_[i];
      Cache& cache = caches[i];
      const auto qkv = layer->self_attention->queries_keys_values(x);
      cache.k.narrow(1, step, 1).copy_(qkv[1]);
      cache.v.narrow(1, step, 1).copy_(qkv[2]);
      const Tensor self = layer->self_attention->attend(
          qkv[0],
          cache.k.narrow(1, 0, step + 1),
          cache.v.narrow(1, 0, step + 1),
          {},
          batch);
      x = layer->norm1(x + self);
      const Tensor cross = layer->cross_attention->attend(
          layer->cross_attention->queries(x),
          cache.memory.first,
          cache.memory.second,
          {},
          batch);
      x = layer->norm3(x + cross);
      x = layer->norm2(x + layer->feed_forward(x));
    }
    token = project(decoder_norm_(x).select(1, 0)).argmax(-1, true);
    tokens.push_back(token);
  }
  return at::cat(tokens, 1);
}

Tensor LeanModel::embed(
    torch::nn::Embedding& embedding, const Tensor& ids, int64_t first) {
  const double scale = std::sqrt(static_cast<double>(workload_.d_model));
  const Tensor x =
      at::add(positions(first, ids.size(1)), embedding(ids), scale);
  return at::dropout(x, workload_.dropout, is_training());
}

// bool [B, S] -> to add, [B * num_heads, 1, S]
Tensor LeanModel::padding_mask(const Tensor& padding) const {
  if (!padding.defined()) {
    return {};
  }
  const int64_t batch = padding.size(0);
  const int64_t length = padding.size(1);
  const int64_t heads = workload_.num_heads;
  return at::zeros({batch, 1, 1, length})
      .masked_fill_(
          padding.view({batch, 1, 1, length}),
          -std::numeric_limits<float>::infinity())
      .expand({batch, heads, 1, length})
      .reshape({batch * heads, 1, length});
}

std::shared_ptr<Seq2SeqModel> make_lean_model(const Seq2SeqWorkload& workload) {
  return std::make_shared<LeanModel>(workload);
}

}  // namespace bench
