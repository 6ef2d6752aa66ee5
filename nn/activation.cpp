#include "nn/activation.h"

#include "autograd/elementwise.h"

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
