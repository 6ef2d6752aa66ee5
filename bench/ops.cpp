#include <heed/heed.h>

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/figures.h"
#include "bench/measurements.h"

namespace bench {
namespace {

using heed::Dims;
using heed::randn;
using heed::Shape;
using heed::Tensor;
using heed::Variable;

Variable leaf(const Shape& shape) { return Variable(randn(shape), true); }

/// y = f(), then the gradients of `leaves` given the gradient dy of y.
Call with_backward(
    const std::vector<Variable>& leaves,
    const Tensor& dy,
    const std::function<Variable()>& f) {
  return [=] {
    for (const Variable& x : leaves) {
      x.zero_grad();
    }
    f().backward(dy);
  };
}

Call softmax_forward() {
  return [x = randn({8, 8, 256, 256})] { heed::softmax(x, -1); };
}

Call softmax() {
  const Variable x = leaf({8, 8, 256, 256});
  return with_backward(
      {x}, randn(x.shape()), [=] { return heed::softmax(x, -1); });
}

Call layer_norm() {
  const Variable x = leaf({4096, 512});
  const Variable weight = leaf({512});
  const Variable bias = leaf({512});
  return with_backward({x, weight, bias}, randn(x.shape()), [=] {
    return heed::layer_norm(x, weight, bias);
  });
}

/// Causal attention written out.
Call attention_by_hand(int64_t length) {
  const Shape shape{64, length, 64};
  const Variable q = leaf(shape);
  const Variable k = leaf(shape);
  const Variable v = leaf(shape);
  Tensor mask = heed::zeros({length, length});
  mask.masked_fill_(
      heed::causal_mask(length, length),
      -std::numeric_limits<float>::infinity());
  return with_backward({q, k, v}, randn(shape), [=] {
    const Variable scores = heed::matmul(q, k.transpose(1, 2)) * 0.125 + mask;
    return heed::matmul(heed::softmax(scores, -1), v);
  });
}

Call attention(int64_t length) {
  const Shape shape{8, 8, length, 64};
  const Variable q = leaf(shape);
  const Variable k = leaf(shape);
  const Variable v = leaf(shape);
  return with_backward({q, k, v}, randn(shape), [=] {
    return heed::scaled_dot_product_attention(
               q, k, v, {.mask = {.is_causal = true}})
        .output;
  });
}

Call linear_relu() {
  const Variable x = leaf({2048, 512});
  const Variable weight = leaf({2048, 512});
  const Variable bias = leaf({2048});
  return with_backward({x, weight, bias}, randn({2048, 2048}), [=] {
    return heed::relu(heed::linear(x, weight, bias));
  });
}

Call cross_entropy() {
  const Variable logits = leaf({2048, 8000});
  const Tensor targets = heed::randint(0, 8000, {2048});
  return with_backward({logits}, heed::ones({}), [=] {
    return heed::cross_entropy(logits, targets, {.label_smoothing = 0.1});
  });
}

Call embedding() {
  const Variable weight = leaf({8000, 512});
  const Tensor ids = heed::randint(0, 8000, {2048});
  return with_backward({weight}, randn({2048, 512}), [=] {
    return heed::embedding(weight, ids);
  });
}

Call dropout() {
  const Variable x = leaf({2048, 2048});
  return with_backward({x}, randn(x.shape()), [=] {
    return heed::dropout(x, 0.1, heed::default_generator());
  });
}

Call adam() {
  std::vector<Variable> parameters;
  for (int i = 0; i < 60; ++i) {
    parameters.push_back(leaf({1000, 1000}));
    parameters.back().set_grad(randn({1000, 1000}));
  }
  const auto optimizer = std::make_shared<heed::Adam>(
      parameters,
      heed::AdamOptions{.lr = 1e-4, .betas = {0.9, 0.98}, .eps = 1e-9});
  return [=] { optimizer->step(); };
}

Call add() {
  return [a = randn({4096, 1024}), b = randn({4096, 1024})] { a + b; };
}

Call add_in_place() {
  return [a = randn({4096, 1024}), b = heed::zeros({4096, 1024})]() mutable {
    a.add_(b);
  };
}

Call transpose() {
  return [a = randn({2048, 2048})] { a.transpose(0, 1).contiguous(); };
}

Call sum(const Shape& shape, int64_t dim) {
  return [=, x = randn(shape)] { heed::sum(x, Dims{dim}); };
}

Call product(const Shape& a_shape, const Shape& b_shape) {
  return [a = randn(a_shape), b = randn(b_shape)] { heed::matmul(a, b); };
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
  heed::manual_seed(1);
  report_op(op, ops().at(op.name)(), settings, report);
}

}  // namespace bench
