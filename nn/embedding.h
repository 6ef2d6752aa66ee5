#pragma once

#include <optional>

#include "nn/module.h"
#include "tensor/generator.h"

namespace heed {

struct EmbeddingOptions {
  /// The id of padding: its row starts at 0 and gets no gradient from here, so
  /// it stays 0 unless the weight is set or tied to something else that learns.
  std::optional<int64_t> padding_idx = std::nullopt;
  DType dtype = kFloat32;
  Generator& generator = default_generator();  ///< For the initial values.
};

/// A learned vector for each id. Starts normal with mean 0 and std 1.
///
/// Shape:       ids int64 [...] -> y [..., d_model]
/// Parameters:  weight [num_embeddings, d_model]
class Embedding : public Module {
 public:
  /// Throws std::invalid_argument unless both sizes are positive and
  /// padding_idx is an id.
  Embedding(
      int64_t num_embeddings,
      int64_t d_model,
      const EmbeddingOptions& options = {});

  /// Throws std::invalid_argument for an id outside [0, num_embeddings).
  Variable forward(const Tensor& ids) const;
  Variable operator()(const Tensor& ids) const { return forward(ids); }

  const Variable& weight() const { return weight_; }
  /// Copies `values` into the weight; the row of padding becomes 0 again.
  /// Throws std::invalid_argument unless shape and dtype agree.
  void set_weight(const Tensor& values);
  /// Uses another module's parameter as weight: one Variable, learnt once.
  /// Throws std::invalid_argument unless shape and dtype agree.
  void tie_weight(const Variable& other);
  std::string describe() const override;

 private:
  int64_t num_embeddings_;
  int64_t d_model_;
  std::optional<int64_t> padding_idx_;
  Variable weight_;
};

}  // namespace heed
