#include "nn/embedding.h"

#include <sstream>

#include "autograd/embedding.h"
#include "nn/init.h"

namespace heed {

Embedding::Embedding(
    int64_t num_embeddings, int64_t d_model, const EmbeddingOptions& options)
    : num_embeddings_(num_embeddings),
      d_model_(d_model),
      padding_idx_(options.padding_idx) {
  if (num_embeddings <= 0 || d_model <= 0) {
    fail(
        "Embedding",
        "num_embeddings and d_model must be positive, got ",
        num_embeddings,
        " and ",
        d_model);
  }
  if (padding_idx_ && (*padding_idx_ < 0 || *padding_idx_ >= num_embeddings)) {
    fail(
        "Embedding",
        "padding_idx must be in [0, ",
        num_embeddings,
        "), got ",
        *padding_idx_);
  }
  const Tensor start = init::normal(
      {num_embeddings, d_model}, 0, 1, {options.dtype, options.generator});
  weight_ = add_parameter("weight", start);
  set_weight(start);
}

Variable Embedding::forward(const Tensor& ids) const {
  return embedding(weight_, ids, padding_idx_);
}

void Embedding::set_weight(const Tensor& values) {
  Tensor weight = weight_.value();
  if (values.shape() != weight.shape()) {
    fail(
        "Embedding",
        "the weight must have shape ",
        weight.shape(),
        ", got ",
        values.shape());
  }
  weight.copy_(values);
  if (padding_idx_) {
    weight.select(0, *padding_idx_).zero_();
  }
}

void Embedding::tie_weight(const Variable& other) {
  tie_parameter("weight", other);
  weight_ = other;
}

std::string Embedding::describe() const {
  std::ostringstream out;
  out << "Embedding(num_embeddings=" << num_embeddings_
      << ", d_model=" << d_model_;
  if (padding_idx_) {
    out << ", padding_idx=" << *padding_idx_;
  }
  out << ')';
  return out.str();
}

}  // namespace heed
