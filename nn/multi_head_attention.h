#pragma once

#include "autograd/attention.h"
#include "nn/key_value_cache.h"
#include "nn/linear.h"
#include "nn/module.h"

namespace heed {

struct MultiHeadAttentionOptions {
  double dropout = 0;  ///< Of the attention weights, while training.
  bool bias = true;
  DType dtype = kFloat32;
  Generator& generator = default_generator();
};

/// What is asked of one call.
struct MultiHeadAttentionCall {
  AttentionMaskOptions mask = {};
  bool need_weights = false;
  bool average_weights = true;  ///< Over the heads.
};

/// Attention of num_heads heads side by side (Vaswani et al. 2017,
/// arXiv:1706.03762, section 3.2.2):
///
///     head_i = attention(query Wq_i, key Wk_i, value Wv_i)
///     output = concat(head_1, ..., head_h) Wo
///
/// Shape:       query [B, T, d_model], key and value [B, S, d_model]
///              -> output [B, T, d_model], weights [B, num_heads, T, S] or,
///              averaged, [B, T, S]; packed (see AttentionMaskOptions) query
///              and output [1, N, d_model], key and value [1, M, d_model], the
///              weights as before, with each sequence at the front
/// Parameters:  in_proj_weight [3 d_model, d_model] (q, k and v one above the
///              other), in_proj_bias [3 d_model], out_proj a Linear
class MultiHeadAttention : public Module {
 public:
  /// Throws std::invalid_argument unless d_model and num_heads are positive,
  /// num_heads divides d_model and dropout is in [0, 1].
  MultiHeadAttention(
      int64_t d_model,
      int64_t num_heads,
      const MultiHeadAttentionOptions& options = {});

  /// Throws std::invalid_argument for shapes and masks that do not fit.
  AttentionResult forward(
      const Variable& query,
      const Variable& key,
      const Variable& value,
      const MultiHeadAttentionCall& call = {}) const;
  /// Of x over itself.
  AttentionResult forward(
      const Variable& x, const MultiHeadAttentionCall& call = {}) const {
    return forward(x, x, x, call);
  }

  /// For decoding: attention of the new positions x [B, t, d_model] over those
  /// in `cache` and, causally, over themselves; they are added to it. Equals
  /// the last t rows of forward over all positions with is_causal. No gradient
  /// flows to the keys and values. key_padding_mask [B, all positions so far]:
  /// true = padding, ignored. Throws std::invalid_argument for shapes that do
  /// not fit.
  Variable step(
      const Variable& x,
      KeyValueCache& cache,
      const Tensor& key_padding_mask = {}) const;
  /// The keys and values of `memory` [B, S, d_model], for attend(). Throws
  /// std::invalid_argument for another shape.
  KeyValueCache project(const Variable& memory) const;
  /// Attention of query [B, T, d_model] over what project() made.
  /// key_padding_mask [B, S]: true = padding, ignored; undefined: none is.
  /// Throws std::invalid_argument for shapes that do not fit.
  Variable attend(
      const Variable& query,
      const KeyValueCache& cache,
      const Tensor& key_padding_mask) const;

  std::string describe() const override;

 private:
  /// q, k and v each start Xavier-uniform, q and k with gain sqrt(1/2).
  void initialize();
  void check_input(const char* name, const Variable& x) const;
  /// `count` of the three projections of x from the `first` on, each cut into
  /// heads: [B, num_heads, T, head_dim].
  std::vector<Variable> heads_of(
      const Variable& x, int64_t first, int64_t count) const;
  AttentionOptions attention_options(
      const AttentionMaskOptions& mask, const Shape& scores) const;
  /// The attention of q [B, num_heads, T, head_dim] over the cache, projected.
  Variable attend_cached(
      const Variable& q,
      const KeyValueCache& cache,
      const AttentionMaskOptions& mask) const;

  int64_t d_model_;
  int64_t num_heads_;
  double dropout_;
  Generator& generator_;
  Variable in_proj_weight_;
  Variable in_proj_bias_;  // undefined without bias
  Linear out_proj_;
};

}  // namespace heed
