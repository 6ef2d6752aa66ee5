#include "bench/libtorch/lean_layer.h"

#include <cmath>

namespace bench {

LeanAttentionImpl::LeanAttentionImpl(const LeanLayerOptions& options)
    : d_model_(options.d_model),
      num_heads_(options.num_heads),
      head_dim_(options.d_model / options.num_heads),
      dropout_(options.dropout) {
  in_proj_ =
      register_module("in_proj", torch::nn::Linear(d_model_, 3 * d_model_));
  out_proj_ =
      register_module("out_proj", torch::nn::Linear(d_model_, d_model_));
}

Tensor LeanAttentionImpl::self(const Tensor& x, const Tensor& mask) {
  const auto qkv = queries_keys_values(x);
  return attend(qkv[0], qkv[1], qkv[2], mask, x.size(0));
}

Tensor LeanAttentionImpl::cross(
    const Tensor& x, const Tensor& memory, const Tensor& mask) {
  const auto [k, v] = keys_values(memory);
  return attend(queries(x), k, v, mask, x.size(0));
}

std::vector<Tensor> LeanAttentionImpl::queries_keys_values(const Tensor& x) {
  const int64_t batch = x.size(0);
  const int64_t length = x.size(1);
  return in_proj_(x)
      .view({batch, length, 3, num_heads_, head_dim_})
      .permute({2, 0, 3, 1, 4})
      .reshape({3, batch * num_heads_, length, head_dim_})
      .unbind(0);
}

Tensor LeanAttentionImpl::queries(const Tensor& x) {
  const int64_t batch = x.size(0);
  const int64_t length = x.size(1);
  return at::linear(
             x,
             in_proj_->weight.slice(0, 0, d_model_),
             in_proj_->bias.slice(0, 0, d_model_))
      .view({batch, length, num_heads_, head_dim_})
      .transpose(1, 2)
      .reshape({batch * num_heads_, length, head_dim_});
}

std::pair<Tensor, Tensor> LeanAttentionImpl::keys_values(const Tensor& memory) {
  const int64_t batch = memory.size(0);
  const int64_t length = memory.size(1);
  const auto kv = at::linear(
                      memory,
                      in_proj_->weight.slice(0, d_model_),
                      in_proj_->bias.slice(0, d_model_))
                      .view({batch, length, 2, num_heads_, head_dim_})
                      .permute({2, 0, 3, 1, 4})
                      .reshape({2, batch * num_heads_, length, head_dim_})
                      .unbind(0);
  return {kv[0], kv[1]};
}

Tensor LeanAttentionImpl::attend(
    const Tensor& q,
    const Tensor& k,
    const Tensor& v,
    const Tensor& mask,
    int64_t batch) {
  const int64_t length = q.size(1);
  const double scale = 1.0 / std::sqrt(static_cast<double>(head_dim_));
  const Tensor keys = k.transpose(1, 2);
  // Without a mask no baddbmm with beta = 0: small ones multiply what the
  // memory of their result held, even NaN.
  const Tensor scores =
      mask.defined()
          ? at::baddbmm(
                mask.expand({q.size(0), length, k.size(1)}), q, keys, 1, scale)
          : at::bmm(q * scale, keys);
  const Tensor weights =
      at::dropout(at::softmax(scores, -1), dropout_, is_training());
  return out_proj_(at::bmm(weights, v)
                       .view({batch, num_heads_, length, head_dim_})
                       .transpose(1, 2)
                       .reshape({batch, length, d_model_}));
}

LeanLayerImpl::LeanLayerImpl(const LeanLayerOptions& options)
    : dropout_(options.dropout) {
  const torch::nn::LayerNormOptions norm({options.d_model});
  self_attention = register_module("self_attention", LeanAttention(options));
  norm1 = register_module("norm1", torch::nn::LayerNorm(norm));
  norm2 = register_module("norm2", torch::nn::LayerNorm(norm));
  if (options.is_decoder) {
    cross_attention =
        register_module("cross_attention", LeanAttention(options));
    norm3 = register_module("norm3", torch::nn::LayerNorm(norm));
  }
  linear1_ = register_module(
      "linear1", torch::nn::Linear(options.d_model, options.d_ff));
  linear2_ = register_module(
      "linear2", torch::nn::Linear(options.d_ff, options.d_model));
}

Tensor LeanLayerImpl::forward(
    Tensor x,
    const Tensor& mask,
    const Tensor& memory,
    const Tensor& memory_mask) {
  x = norm1(x + drop(self_attention->self(x, mask)));
  if (!cross_attention.is_empty()) {
    x = norm3(x + drop(cross_attention->cross(x, memory, memory_mask)));
  }
  return norm2(x + drop(feed_forward(x)));
}

Tensor LeanLayerImpl::feed_forward(const Tensor& x) {
  return linear2_(drop(at::relu(linear1_(x))));
}

Tensor LeanLayerImpl::drop(const Tensor& x) const {
  return at::dropout(x, dropout_, is_training());
}

}  // namespace bench
