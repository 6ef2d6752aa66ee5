#pragma once

#include "nn/dropout.h"
#include "nn/module.h"

namespace heed {

struct LayerNormOptions {
  double eps = 1e-5;   ///< Added to the variance, inside the square root; > 0.
  bool affine = true;  ///< Learn weight (starts at 1) and bias (starts at 0).
  bool bias = true;    ///< Without effect unless affine.
  DType dtype = kFloat32;
};

/// Layer normalisation over the last dimensions (Ba et al. 2016,
/// arXiv:1607.06450):
///
///     y = (x - mean) / sqrt(var + eps) * weight + bias
///
/// `var` divides by the number of elements, not by one less.
///
/// Shape:       x [..., normalized_shape] -> y of x's shape
/// Parameters:  weight, bias [normalized_shape]; neither when not affine
class LayerNorm : public Layer {
 public:
  /// Over the last dimension. Throws std::invalid_argument unless d_model > 0
  /// and options.eps > 0.
  explicit LayerNorm(int64_t d_model, const LayerNormOptions& options = {});
  /// Over the last dimensions. Throws as above.
  explicit LayerNorm(
      const Shape& normalized_shape, const LayerNormOptions& options = {});

  /// Throws std::invalid_argument unless x's last sizes are normalized_shape.
  Variable forward(const Variable& x) const override;
  /// forward(x + dropout(branch)), in one pass. Throws std::invalid_argument
  /// unless branch has x's shape.
  Variable forward(
      const Variable& x, const Variable& branch, const Dropout& dropout) const;

  const Variable& weight() const { return weight_; }  ///< Undefined if none.
  const Variable& bias() const { return bias_; }      ///< Undefined if none.
  std::string describe() const override;

 private:
  Shape normalized_shape_;
  double eps_;
  Variable weight_;
  Variable bias_;
};

}  // namespace heed
