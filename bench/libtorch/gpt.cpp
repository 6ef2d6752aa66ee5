#include <cmath>

#include "bench/libtorch/seq2seq_model.h"
#include "bench/measurements.h"
#include "bench/training_loop.h"

namespace bench {
namespace {

/// A decoder alone by hand on ATen operations; the stock modules of 1.13 have
/// no activation by the tanh approximation.
class Gpt {
 public:
  explicit Gpt(const GptWorkload& workload)
      : workload_(workload),
        embedding_(matrix(workload.vocabulary, workload.d_model)),
        positions_(matrix(workload.length, workload.d_model)),
        norm_(norm()),
        mask_(causal_mask(workload.length)) {
    const int64_t d = workload.d_model;
    const int64_t d_ff = workload.d_ff;
    for (int64_t i = 0; i < workload.layers; ++i) {
      layers_.push_back(
          {.norm1 = norm(),
           .in_proj = {matrix(3 * d, d), vector(3 * d, 0)},
           .out_proj = {matrix(d, d), vector(d, 0)},
           .norm2 = norm(),
           .linear1 = {matrix(d_ff, d), vector(d_ff, 0)},
           .linear2 = {matrix(d, d_ff), vector(d, 0)}});
    }
  }

  const std::vector<Tensor>& parameters() const { return parameters_; }

  /// ids [B, T] -> logits [B, T, vocabulary]. `fused_attention`: where libtorch
  /// has it, from 2.0 on.
  Tensor forward(const Tensor& ids, bool fused_attention) const {
    Tensor x = at::embedding(embedding_, ids) + positions_;
    for (const Layer& layer : layers_) {
      const Tensor attended =
          attend(layer.in_proj(normalized(x, layer.norm1)), fused_attention);
      x = x + layer.out_proj(attended);
      const Tensor hidden =
          at::gelu(layer.linear1(normalized(x, layer.norm2)), "tanh");
      x = x + layer.linear2(hidden);
    }
    return at::linear(normalized(x, norm_), embedding_);
  }

 private:
  struct Affine {
    Tensor weight, bias;
    Tensor operator()(const Tensor& x) const {
      return at::linear(x, weight, bias);
    }
  };
  struct Layer {
    Affine norm1, in_proj, out_proj, norm2, linear1, linear2;
  };

  Tensor parameter(const Tensor& initial) {
    parameters_.push_back(initial.clone().set_requires_grad(true));
    return parameters_.back();
  }
  Tensor matrix(int64_t rows, int64_t columns) {
    return parameter(torch::randn({rows, columns}) * 0.02);
  }
  Tensor vector(int64_t size, double value) {
    return parameter(torch::full({size}, value));
  }
  Affine norm() {
    return {vector(workload_.d_model, 1), vector(workload_.d_model, 0)};
  }
  Tensor normalized(const Tensor& x, const Affine& norm) const {
    return at::layer_norm(x, {workload_.d_model}, norm.weight, norm.bias);
  }

  // projected [B, T, 3 * d_model] -> [B, T, d_model]
  Tensor attend(const Tensor& projected, bool fused_attention) const {
    const int64_t batch = projected.size(0);
    const int64_t length = projected.size(1);
    const int64_t heads = workload_.num_heads;
    const int64_t head_dim = workload_.d_model / heads;
    const Tensor qkv = projected.view({batch, length, 3, heads, head_dim})
                           .permute({2, 0, 3, 1, 4});
    Tensor output;
#if TORCH_VERSION_MAJOR >= 2
    if (fused_attention) {
      const auto parts = qkv.unbind(0);
      output = at::scaled_dot_product_attention(
          parts[0], parts[1], parts[2], {}, 0.0, true);
    }
#else
    static_cast<void>(fused_attention);
#endif
    if (!output.defined()) {
      const auto parts =
          qkv.reshape({3, batch * heads, length, head_dim}).unbind(0);
      const Tensor scores = at::baddbmm(
          mask_.expand({batch * heads, length, length}),
          parts[0],
          parts[1].transpose(1, 2),
          1.0,
          1.0 / std::sqrt(static_cast<double>(head_dim)));
      output = at::bmm(at::softmax(scores, -1), parts[2])
                   .view({batch, heads, length, head_dim});
    }
    return output.transpose(1, 2).reshape({batch, length, workload_.d_model});
  }

  const GptWorkload workload_;
  std::vector<Tensor> parameters_;
  Tensor embedding_;
  Tensor positions_;
  std::vector<Layer> layers_;
  Affine norm_;
  Tensor mask_;
};

}  // namespace

void measure_gpt(const Settings& settings, const Report& report) {
  const GptWorkload workload;
  torch::manual_seed(1);
  const Gpt model(workload);
  torch::optim::AdamW optimizer(
      model.parameters(),
      torch::optim::AdamWOptions(workload.lr)
          .betas({0.9, 0.98})
          .eps(1e-9)
          .weight_decay(0));
  int64_t num_parameters = 0;
  for (const Tensor& parameter : model.parameters()) {
    num_parameters += parameter.numel();
  }

  const int64_t length = workload.length;
  const Tensor ids = torch::tensor(gpt_ids(workload), torch::kLong)
                         .view({workload.batch, length + 1});
  const Tensor given = ids.slice(1, 0, length).contiguous();
  const Tensor targets = ids.slice(1, 1).contiguous().view(-1);
  Tensor loss;
  const auto forward = [&] {
    const Tensor logits = model.forward(given, settings.impl == "lean");
    loss =
        at::cross_entropy_loss(logits.view({-1, workload.vocabulary}), targets);
    return loss.item<double>();
  };
  const auto backward = [&] {
    optimizer.zero_grad();
    loss.backward();
    loss = Tensor();
  };
  measure_training(
      {.workload = "gpt",
       .impl = settings.impl,
       .forward = forward,
       .backward = backward,
       .update = [&] { optimizer.step(); },
       .parameters = num_parameters,
       .tokens = static_cast<double>(targets.numel())},
      settings,
      report);
}

}  // namespace bench
