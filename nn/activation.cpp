#include "nn/activation.h"

#include "autograd/activation.h"
#include "autograd/activation_dropout.h"

namespace heed {

Variable Activation::forward(const Variable& x) const {
  switch (kind_) {
    case ActivationKind::relu:
      return relu(x);
    case ActivationKind::gelu:
      return gelu(x);
    case ActivationKind::gelu_tanh:
      return gelu(x, GeluApproximation::tanh);
    case ActivationKind::silu:
      return silu(x);
    case ActivationKind::sigmoid:
      return sigmoid(x);
    case ActivationKind::tanh:
      return tanh(x);
  }
  fail("Activation", "the kind must be one of ActivationKind's");
}

Variable Activation::forward(const Variable& x, const Dropout& dropout) const {
  switch (kind_) {
    case ActivationKind::relu:
      return relu_dropout(x, dropout.draw(x.numel()));
    case ActivationKind::gelu:
      return gelu_dropout(x, GeluApproximation::none, dropout.draw(x.numel()));
    case ActivationKind::gelu_tanh:
      return gelu_dropout(x, GeluApproximation::tanh, dropout.draw(x.numel()));
    default:
      return dropout(forward(x));
  }
}

std::string Activation::describe() const {
  switch (kind_) {
    case ActivationKind::relu:
      return "ReLU()";
    case ActivationKind::gelu:
      return "GELU()";
    case ActivationKind::gelu_tanh:
      return "GELU(approximation=tanh)";
    case ActivationKind::silu:
      return "SiLU()";
    case ActivationKind::sigmoid:
      return "Sigmoid()";
    case ActivationKind::tanh:
      return "Tanh()";
  }
  return "Activation()";
}

}  // namespace heed
