#include <torch/torch.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/figures.h"
#include "bench/libtorch/seq2seq_model.h"
#include "bench/measurements.h"

namespace bench {
namespace {

using torch::randn;

Tensor leaf(at::IntArrayRef shape) {
  return randn(shape).set_requires_grad(true);
}

/// y = f(), then the gradients of `leaves` given the gradient dy of y.
Call with_backward(
    std::vector<Tensor> leaves,
    const Tensor& dy,
    const std::function<Tensor()>& f) {
  return [=]() mutable {
    for (Tensor& x : leaves) {
      x.mutable_grad() = Tensor();
    }
    f().backward(dy);
  };
}

Call softmax_forward() {
  return [x = randn({8, 8, 256, 256})] { at::softmax(x, -1); };
}

Call softmax() {
  const Tensor x = leaf({8, 8, 256, 256});
  return with_backward(
      {x}, randn(x.sizes()), [=] { return at::softmax(x, -1); });
}

Call layer_norm() {
  const Tensor x = leaf({4096, 512});
  const Tensor weight = leaf({512});
  const Tensor bias = leaf({512});
  return with_backward({x, weight, bias}, randn(x.sizes()), [=] {
    return at::layer_norm(x, {512}, weight, bias);
  });
}

/// Causal attention written out.
Call attention_by_hand(int64_t length) {
  const Tensor q = leaf({64, length, 64});
  const Tensor k = leaf({64, length, 64});
  const Tensor v = leaf({64, length, 64});
  const Tensor mask = causal_mask(length);
  return with_backward({q, k, v}, randn(q.sizes()), [=] {
    const Tensor scores = at::baddbmm(
        mask.expand({64, length, length}), q, k.transpose(1, 2), 1.0, 0.125);
    return at::bmm(at::softmax(scores, -1), v);
  });
}

Call attention(int64_t length) {
  const Tensor q = leaf({8, 8, length, 64});
  const Tensor k = leaf({8, 8, length, 64});
  const Tensor v = leaf({8, 8, length, 64});
  return with_backward({q, k, v}, randn(q.sizes()), [=] {
#if TORCH_VERSION_MAJOR >= 2
    return at::scaled_dot_product_attention(q, k, v, {}, 0.0, true);
#else
    return std::get<0>(at::_scaled_dot_product_attention(
        q, k, v, {}, 0.0, /*need_attn_weights=*/false, /*is_causal=*/true));
#endif
  });
}

Call linear_relu() {
  const Tensor x = leaf({2048, 512});
  const Tensor weight = leaf({2048, 512});
  const Tensor bias = leaf({2048});
  return with_backward({x, weight, bias}, randn({2048, 2048}), [=] {
    return at::relu(at::linear(x, weight, bias));
  });
}

Call cross_entropy() {
  const Tensor logits = leaf({2048, 8000});
  const Tensor targets = torch::randint(8000, {2048}, torch::kLong);
  return with_backward({logits}, torch::ones({}), [=] {
    return at::cross_entropy_loss(
        logits, targets, {}, at::Reduction::Mean, -100, 0.1);
  });
}

Call embedding() {
  const Tensor weight = leaf({8000, 512});
  const Tensor ids = torch::randint(8000, {2048}, torch::kLong);
  return with_backward(
      {weight}, randn({2048, 512}), [=] { return at::embedding(weight, ids); });
}

Call dropout() {
  const Tensor x = leaf({2048, 2048});
  return with_backward(
      {x}, randn(x.sizes()), [=] { return at::dropout(x, 0.1, true); });
}

Call adam() {
  std::vector<Tensor> parameters;
  for (int i = 0; i < 60; ++i) {
    parameters.push_back(leaf({1000, 1000}));
    parameters.back().mutable_grad() = randn({1000, 1000});
  }
  const auto optimizer = std::make_shared<torch::optim::Adam>(
      parameters, torch::optim::AdamOptions(1e-4).betas({0.9, 0.98}).eps(1e-9));
  return [=] { optimizer->step(); };
}

Call add() {
  return [a = randn({4096, 1024}), b = randn({4096, 1024})] { at::add(a, b); };
}

Call add_in_place() {
  return [a = randn({4096, 1024}), b = torch::zeros({4096, 1024})]() mutable {
    a.add_(b);
  };
}

Call transpose() {
  return [a = randn({2048, 2048})] { a.t().contiguous(); };
}

Call sum(at::IntArrayRef shape, int64_t dim) {
  return [x = randn(shape), dim] { x.sum(dim); };
}

Call product(at::IntArrayRef a_shape, at::IntArrayRef b_shape) {
  return [a = randn(a_shape), b = randn(b_shape)] { at::matmul(a, b); };
}

/// Makes what is called and timed, for each name in op_workloads().
const std::map<std::string, std::function<Call()>>& ops() {
  static const std::map<std::string, std::function<Call()>> all = {
      {"softmax_fwd", softmax_forward},
      {"softmax_fwd_bwd", softmax},
      {"layer_norm_fwd_bwd", layer_norm},
      {"attention_manual_T128", [] { return attention_by_hand(128); }},
      {"attention_sdpa_T128", [] { return attention(128); }},
      {"attention_manual_T512", [] { return attention_by_hand(512); }},
      {"attention_sdpa_T512", [] { return attention(512); }},
      {"attention_manual_T2048", [] { return attention_by_hand(2048); }},
      {"attention_sdpa_T2048", [] { return attention(2048); }},
      {"linear_bias_relu_fwd_bwd", linear_relu},
      {"cross_entropy_smooth_fwd_bwd", cross_entropy},
      {"embedding_fwd_bwd", embedding},
      {"dropout_fwd_bwd", dropout},
      {"adam_60M", adam},
      {"add_4096x1024", add},
      {"add_inplace_4096x1024", add_in_place},
      {"transpose_contiguous_2048", transpose},
      {"sum_dim0_4096x1024",
       [] {
         return sum({4096, 1024}, 0);
       }},
      {"sum_dim1_4096x1024",
       [] {
         return sum({4096, 1024}, 1);
       }},
      {"sum_dim0_64x256x256",
       [] {
         return sum({64, 256, 256}, 0);
       }},
      {"sum_dim1_64x256x256",
       [] {
         return sum({64, 256, 256}, 1);
       }},
      {"sum_dim2_64x256x256",
       [] {
         return sum({64, 256, 256}, 2);
       }},
      {"gemm_1024",
       [] {
         return product({1024, 1024}, {1024, 1024});
       }},
      {"bmm_640x10x64x10",
       [] {
         return product({640, 10, 64}, {640, 64, 10});
       }},
  };
  return all;
}

}  // namespace

void measure_op(
    const OpWorkload& op, const Settings& settings, const Report& report) {
  torch::manual_seed(1);
  report_op(op, ops().at(op.name)(), settings, report);
}

}  // namespace bench
