#pragma once

#include "nn/attention.h"
#include "nn/linear.h"

namespace heed {

struct AdditiveAttentionOptions {
  DType dtype = kFloat32;
  Generator& generator = default_generator();
};

/// A small network scores each pair (Bahdanau et al. 2015, arXiv:1409.0473,
/// appendix A.1.2):
///
///     score(q, k) = v^T tanh(Wq q + Wk k)
///
/// Parameters:  query_proj and key_proj, Linear to hidden_size without bias,
///              score_proj, Linear from hidden_size to 1 without bias
class AdditiveAttention : public Attention {
 public:
  /// Throws std::invalid_argument unless all sizes are positive.
  AdditiveAttention(
      int64_t query_size,
      int64_t key_size,
      int64_t hidden_size,
      const AdditiveAttentionOptions& options = {});

  Variable scores(const Variable& query, const Variable& key) const override;

 private:
  Linear query_proj_;
  Linear key_proj_;
  Linear score_proj_;
};

}  // namespace heed
