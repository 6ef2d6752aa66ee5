#pragma once

#include <torch/torch.h>

#include <utility>

namespace bench {

using torch::Tensor;

struct LeanLayerOptions {
  int64_t d_model;
  int64_t num_heads;
  int64_t d_ff;
  double dropout;
  bool is_decoder;
};

/// Attention by hand: batch first, one product for q, k and v, scale and mask
/// folded into the product of queries and keys.
class LeanAttentionImpl : public torch::nn::Module {
 public:
  explicit LeanAttentionImpl(const LeanLayerOptions& options);

  /// `mask` is added; broadcastable to [B * num_heads, L, S], or undefined.
  Tensor self(const Tensor& x, const Tensor& mask);
  Tensor cross(const Tensor& x, const Tensor& memory, const Tensor& mask);
  /// x [B, L, d_model] -> q, k, v, each [B * num_heads, L, head_dim]
  std::vector<Tensor> queries_keys_values(const Tensor& x);
  Tensor queries(const Tensor& x);
  std::pair<Tensor, Tensor> keys_values(const Tensor& memory);
  Tensor attend(
      const Tensor& q,
      const Tensor& k,
      const Tensor& v,
      const Tensor& mask,
      int64_t batch);

 private:
  const int64_t d_model_;
  const int64_t num_heads_;
  const int64_t head_dim_;
  const double dropout_;
  torch::nn::Linear in_proj_{nullptr};
  torch::nn::Linear out_proj_{nullptr};
};
TORCH_MODULE(LeanAttention);

/// An encoder or decoder layer, post-norm.
class LeanLayerImpl : public torch::nn::Module {
 public:
  explicit LeanLayerImpl(const LeanLayerOptions& options);

  /// Encoder layers ignore memory.
  Tensor forward(
      Tensor x,
      const Tensor& mask,
      const Tensor& memory = {},
      const Tensor& memory_mask = {});
  Tensor feed_forward(const Tensor& x);

  LeanAttention self_attention{nullptr};
  LeanAttention cross_attention{nullptr};  // of a decoder
  torch::nn::LayerNorm norm1{nullptr};
  torch::nn::LayerNorm norm2{nullptr};
  torch::nn::LayerNorm norm3{nullptr};  // of a decoder

 private:
  Tensor drop(const Tensor& x) const;

  const double dropout_;
  torch::nn::Linear linear1_{nullptr};
  torch::nn::Linear linear2_{nullptr};
};
TORCH_MODULE(LeanLayer);

}  // namespace bench
