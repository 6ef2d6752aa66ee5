#pragma once

#include <string>
#include <vector>

#include "optim/optimizer.h"

namespace heed {

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;      ///< >= 0.
  double dampening = 0;     ///< Share of the gradient kept out of the velocity.
  double weight_decay = 0;  ///< L2 penalty, added to the gradient; >= 0.
  bool nesterov = false;    ///< Needs momentum > 0 and dampening 0.
  double lr_scale = 1;      ///< Multiplies every rate the group is given.
};

/// Stochastic gradient descent, with momentum as PyTorch has it: the rate is
/// not part of the velocity, so a new rate acts at once on all of it.
///
///     g = grad + weight_decay * w
///     v = momentum * v + (1 - dampening) * g,  v = g at first
///     w = w - lr * (nesterov ? g + momentum * v : v)
///
/// Nesterov's form: Sutskever et al. 2013, "On the importance of initialization
/// and momentum in deep learning". State: momentum_buffer (v), if momentum > 0.
class SGD : public Optimizer {
 public:
  /// Throws std::invalid_argument as Optimizer says.
  explicit SGD(std::vector<Variable> parameters, SGDOptions options = {});
  explicit SGD(const std::vector<ParameterGroup<SGDOptions>>& groups);

 protected:
  std::vector<std::string> state_names(size_t group) const override;
  void update(const std::vector<Update>& updates) override;

 private:
  std::vector<SGDOptions> options_;  // of each group
};

}  // namespace heed
