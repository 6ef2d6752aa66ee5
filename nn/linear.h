#pragma once

#include "nn/module.h"
#include "tensor/generator.h"

namespace heed {

struct LinearOptions {
  bool bias = true;
  DType dtype = kFloat32;
  Generator& generator = default_generator();  ///< For the initial values.
};

/// Affine map y = x W^T + b. Both start uniform in +-1/sqrt(in_features).
///
/// Shape:       x [..., in_features] -> y [..., out_features]
/// Parameters:  weight [out_features, in_features], bias [out_features]
class Linear : public Layer {
 public:
  /// Throws std::invalid_argument unless both sizes are positive.
  Linear(
      int64_t in_features,
      int64_t out_features,
      const LinearOptions& options = {});

  /// Throws std::invalid_argument unless the last size of x is in_features.
  Variable forward(const Variable& x) const override;

  const Variable& weight() const { return weight_; }
  const Variable& bias() const { return bias_; }  ///< Undefined without one.
  /// Uses another module's parameter as weight: one Variable, learnt once.
  /// Throws std::invalid_argument unless shape and dtype agree.
  void tie_weight(const Variable& other);
  std::string describe() const override;

 private:
  int64_t in_features_;
  int64_t out_features_;
  Variable weight_;
  Variable bias_;
};

}  // namespace heed
