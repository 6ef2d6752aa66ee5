#pragma once

#include "nn/dropout.h"
#include "nn/module.h"

namespace heed {

/// The nonlinearity of a feed-forward network.
enum class ActivationKind { relu, gelu, gelu_tanh, silu, sigmoid, tanh };

/// An elementwise function as a layer: relu max(x, 0); gelu x Phi(x) exactly or
/// by its tanh approximation (Hendrycks and Gimpel 2016, arXiv:1606.08415);
/// silu x sigmoid(x); sigmoid; tanh.
///
/// Shape:       x [*] -> y [*]
class Activation : public Layer {
 public:
  explicit Activation(ActivationKind kind) : kind_(kind) {}

  Variable forward(const Variable& x) const override;
  /// dropout(forward(x)); of relu and gelu in one pass.
  Variable forward(const Variable& x, const Dropout& dropout) const;
  std::string describe() const override;

 private:
  ActivationKind kind_;
};

}  // namespace heed
