#include "nn/multiplicative_attention.h"

#include <cmath>

#include "autograd/elementwise.h"
#include "autograd/matmul.h"
#include "autograd/reduction.h"
#include "tensor/comparison.h"

namespace heed {
namespace {

// q^T k of all pairs, [B, T, S].
Variable dot_products(
    const char* who, const Variable& query, const Variable& key) {
  if (query.size(-1) != key.size(-1)) {
    fail(
        who,
        "query and key must have one size, got ",
        query.shape(),
        " and ",
        key.shape());
  }
  return matmul(query, key.transpose(-2, -1));
}

// Each vector divided by its length; zeros stay zeros.
Variable normalized(const Variable& x) {
  const Variable length = norm(x, -1, /*keepdim=*/true);
  return x / masked_fill(length, eq(length.value(), 0), 1);
}

}  // namespace

Variable DotAttention::scores(
    const Variable& query, const Variable& key) const {
  return dot_products("DotAttention", query, key);
}

Variable ScaledDotAttention::scores(
    const Variable& query, const Variable& key) const {
  const double scale = 1 / std::sqrt(static_cast<double>(query.size(-1)));
  return dot_products("ScaledDotAttention", query * scale, key);
}

Variable CosineAttention::scores(
    const Variable& query, const Variable& key) const {
  return dot_products("CosineAttention", normalized(query), normalized(key));
}

GeneralAttention::GeneralAttention(
    int64_t query_size,
    int64_t key_size,
    const GeneralAttentionOptions& options)
    : key_proj_(
          key_size, query_size, {false, options.dtype, options.generator}) {
  add_module("key_proj", key_proj_);
}

Variable GeneralAttention::scores(
    const Variable& query, const Variable& key) const {
  return dot_products("GeneralAttention", query, key_proj_(key));
}

}  // namespace heed
