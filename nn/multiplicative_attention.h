#pragma once

#include "nn/attention.h"
#include "nn/linear.h"
#include "nn/module.h"

namespace heed {

/// score(q, k) = q^T k (Luong et al. 2015, arXiv:1508.04025, eq. 8). Queries
/// and keys have one size. No parameters.
class DotAttention : public Attention {
 public:
  Variable scores(const Variable& query, const Variable& key) const override;
};

/// score(q, k) = q^T k / sqrt(size) (Vaswani et al. 2017, arXiv:1706.03762, eq.
/// 1), which keeps the scores' variance at 1 as sizes grow. No parameters.
class ScaledDotAttention : public Attention {
 public:
  Variable scores(const Variable& query, const Variable& key) const override;
};

/// score(q, k) = q^T k / (|q| |k|), the cosine between them, in [-1, 1] (Graves
/// et al. 2014, arXiv:1410.5401, eq. 6). With a vector of zeros it is 0. No
/// parameters.
class CosineAttention : public Attention {
 public:
  Variable scores(const Variable& query, const Variable& key) const override;
};

struct GeneralAttentionOptions {
  DType dtype = kFloat32;
  Generator& generator = default_generator();
};

/// score(q, k) = q^T W k (Luong et al. 2015, arXiv:1508.04025, eq. 8).
///
/// Parameters:  key_proj, Linear from key_size to query_size without bias: W
class GeneralAttention : public Attention {
 public:
  /// Throws std::invalid_argument unless both sizes are positive.
  GeneralAttention(
      int64_t query_size,
      int64_t key_size,
      const GeneralAttentionOptions& options = {});

  Variable scores(const Variable& query, const Variable& key) const override;

 private:
  Linear key_proj_;
};

}  // namespace heed
