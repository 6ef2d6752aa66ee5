#include "nn/multi_head_attention.h"

#include <cmath>
#include <sstream>

#include "autograd/multi_head_attention.h"
#include "autograd/reduction.h"
#include "nn/init.h"
#include "tensor/creation.h"

namespace heed {
namespace {

int64_t checked_d_model(int64_t d_model, int64_t num_heads) {
  if (d_model <= 0 || num_heads <= 0 || d_model % num_heads != 0) {
    fail(
        "MultiHeadAttention",
        "d_model must be divisible by num_heads, both positive, got d_model "
        "= ",
        d_model,
        " and num_heads = ",
        num_heads);
  }
  return d_model;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(
    int64_t d_model,
    int64_t num_heads,
    const MultiHeadAttentionOptions& options)
    : d_model_(checked_d_model(d_model, num_heads)),
      num_heads_(num_heads),
      dropout_(options.dropout),
      generator_(options.generator),
      out_proj_(
          d_model,
          d_model,
          {.bias = options.bias,
           .dtype = options.dtype,
           .generator = options.generator}) {
  if (!(dropout_ >= 0 && dropout_ <= 1)) {
    fail("MultiHeadAttention", "dropout must be in [0, 1], got ", dropout_);
  }
  in_proj_weight_ = add_parameter(
      "in_proj_weight", Tensor({3 * d_model, d_model}, options.dtype));
  initialize();
  if (options.bias) {
    in_proj_bias_ =
        add_parameter("in_proj_bias", zeros({3 * d_model}, options.dtype));
    Tensor(out_proj_.bias().value()).zero_();
  }
  add_module("out_proj", out_proj_);
}

void MultiHeadAttention::initialize() {
  // Three matrices, each by its own fans. Smaller q and k make even weights to
  // begin with.
  Tensor weight = in_proj_weight_.value();
  const double gains[] = {std::sqrt(0.5), std::sqrt(0.5), 1};
  for (int64_t i = 0; i < 3; ++i) {
    weight.slice(0, i * d_model_, (i + 1) * d_model_)
        .copy_(init::xavier_uniform(
            {d_model_, d_model_}, gains[i], {weight.dtype(), generator_}));
  }
}

void MultiHeadAttention::check_input(
    const char* name, const Variable& x) const {
  if (!x.defined() || x.dim() != 3 || x.size(2) != d_model_) {
    std::ostringstream got;
    if (x.defined()) {
      got << x.shape();
    } else {
      got << "an empty handle";
    }
    fail(
        "MultiHeadAttention",
        name,
        " must have shape [B, T, ",
        d_model_,
        "], got ",
        got.str());
  }
}

std::vector<Variable> MultiHeadAttention::heads_of(
    const Variable& x, int64_t first, int64_t count) const {
  return project_heads(
      x, in_proj_weight_, in_proj_bias_, num_heads_, first, count);
}

AttentionOptions MultiHeadAttention::attention_options(
    const AttentionMaskOptions& mask, const Shape& scores) const {
  AttentionOptions options{
      .mask = make_attention_mask(
          "MultiHeadAttention", mask, scores, in_proj_weight_.dtype())};
  if (is_training() && dropout_ > 0) {
    options.dropout = dropout_;
    options.start =
        generator_.reserve(options.mask.padded_scores(scores).numel());
  }
  return options;
}

Variable MultiHeadAttention::attend_cached(
    const Variable& q,
    const KeyValueCache& cache,
    const AttentionMaskOptions& mask) const {
  const Variable heads = attention(
      q,
      cache.key(),
      cache.value(),
      attention_options(
          mask, {q.size(0), num_heads_, q.size(2), cache.length()}));
  return out_proj_(heads
                       .transpose(1, 2)  // [B, T, num_heads, head_dim]
                       .reshape({q.size(0), q.size(2), d_model_}));
}

AttentionResult MultiHeadAttention::forward(
    const Variable& query,
    const Variable& key,
    const Variable& value,
    const MultiHeadAttentionCall& call) const {
  check_input("query", query);
  check_input("key", key);
  check_input("value", value);
  if (key.size(0) != query.size(0) || value.size(0) != query.size(0) ||
      key.size(1) != value.size(1)) {
    fail(
        "MultiHeadAttention",
        "query must have shape [B, T, d_model], key and value [B, S, "
        "d_model], got ",
        query.shape(),
        ", ",
        key.shape(),
        " and ",
        value.shape());
  }
  const AttentionOptions options = attention_options(
      call.mask, {query.size(0), num_heads_, query.size(1), key.size(1)});
  const auto attend = [&](auto f) {
    return f(
        query, key, value, in_proj_weight_, in_proj_bias_, num_heads_, options);
  };
  if (!call.need_weights) {
    return {out_proj_(attend(multi_head_attention)), {}};
  }
  AttentionResult result = attend(multi_head_attention_with_weights);
  result.output = out_proj_(result.output);
  if (call.average_weights) {
    result.weights = mean(result.weights, 1);  // [B, T, S]
  }
  return result;
}

Variable MultiHeadAttention::step(
    const Variable& x,
    KeyValueCache& cache,
    const Tensor& key_padding_mask) const {
  check_input("x", x);
  const auto qkv = heads_of(x, 0, 3);
  cache.append(qkv[1].value(), qkv[2].value());
  return attend_cached(
      qkv[0],
      cache,
      {.key_padding_mask = key_padding_mask, .is_causal = x.size(1) > 1});
}

KeyValueCache MultiHeadAttention::project(const Variable& memory) const {
  check_input("memory", memory);
  const auto kv = heads_of(memory, 1, 2);
  KeyValueCache cache;
  cache.append(kv[0].value(), kv[1].value());
  return cache;
}

Variable MultiHeadAttention::attend(
    const Variable& query,
    const KeyValueCache& cache,
    const Tensor& key_padding_mask) const {
  check_input("query", query);
  if (!cache.key().defined()) {
    fail(
        "MultiHeadAttention",
        "the cache must be project()'s, got an empty one");
  }
  return attend_cached(
      heads_of(query, 0, 1)[0], cache, {.key_padding_mask = key_padding_mask});
}

std::string MultiHeadAttention::describe() const {
  std::ostringstream out;
  out << "MultiHeadAttention(d_model=" << d_model_
      << ", num_heads=" << num_heads_ << ", dropout=" << dropout_ << ')';
  return out.str();
}

}  // namespace heed
