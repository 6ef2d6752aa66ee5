#pragma once

#include "nn/activation.h"
#include "nn/dropout.h"
#include "nn/linear.h"
#include "nn/module.h"

namespace heed {

struct FeedForwardOptions {
  ActivationKind activation = ActivationKind::relu;
  double dropout = 0;  ///< After the activation, while training.
  bool bias = true;
  DType dtype = kFloat32;
  Generator& generator = default_generator();
};

/// The same two-layer network at every position (Vaswani et al. 2017,
/// arXiv:1706.03762, eq. 2):
///
///     y = activation(x W1^T + b1) W2^T + b2
///
/// Shape:       x [..., d_model] -> y [..., d_model]
/// Parameters:  linear1 a Linear d_model -> d_ff, linear2 a Linear back
class FeedForward : public Layer {
 public:
  /// Throws std::invalid_argument unless both sizes are positive and dropout is
  /// in [0, 1].
  FeedForward(
      int64_t d_model, int64_t d_ff, const FeedForwardOptions& options = {});

  Variable forward(const Variable& x) const override;

 private:
  Linear linear1_;
  Activation activation_;
  Dropout dropout_;
  Linear linear2_;
};

}  // namespace heed
