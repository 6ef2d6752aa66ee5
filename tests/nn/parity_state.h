#pragma once

#include <string>

#include "nn/module.h"
#include "tests/parity/parity.h"

namespace heed {

/// Gives the module PyTorch's parameters; all names and shapes must fit.
inline void load_parity_state(
    Module& module, const ParityCase& c, DType dtype) {
  StateDict state;
  for (const std::string& name : c.names("state.")) {
    state[name] = c.tensor("state." + name, dtype);
  }
  module.load_state_dict(state);
}

/// Checks the gradients of all parameters; those of tied ones count once.
inline void check_parity_gradients(const Module& module, const ParityCase& c) {
  for (const auto& [key, parameter] : module.named_parameters()) {
    const std::string& name = key;
    CAPTURE(name);
    REQUIRE(parameter.grad().defined());
    c.check("grad.state." + name, parameter.grad().value());
  }
}

/// An input of a case as a leaf that wants a gradient.
inline Variable parity_input(
    const ParityCase& c, const std::string& name, DType dtype) {
  return Variable(c.tensor("input." + name, dtype).clone(), true);
}

/// A mask of a case, undefined when it has none.
inline Tensor parity_mask(
    const ParityCase& c, const std::string& name, DType dtype) {
  return c.has("mask." + name) ? c.tensor("mask." + name, dtype) : Tensor();
}

/// The kind that a case's options name.
template <typename Kind>
Kind parity_activation(const ParityCase& c) {
  const std::string name = c.options().at("activation");
  return name == "relu"        ? Kind::relu
         : name == "gelu"      ? Kind::gelu
         : name == "gelu_tanh" ? Kind::gelu_tanh
         : name == "silu"      ? Kind::silu
         : name == "sigmoid"   ? Kind::sigmoid
                               : Kind::tanh;
}

}  // namespace heed
