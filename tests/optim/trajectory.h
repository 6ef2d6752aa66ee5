#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "optim/optimizer.h"
#include "tests/parity/parity.h"

namespace heed {

/// Checks ten updates of weight and bias against PyTorch's, in both precisions,
/// for every case of the optimizers' parity data whose first word is `kind`.
/// make(parameters, options) returns a pointer to the optimizer.
template <typename Make>
void check_trajectories(const std::string& kind, const Make& make) {
  int cases = 0;
  for (const ParityCase& c : Parity::load("optimizers", kind)) {
    if (c.name() != kind && !c.name().starts_with(kind + " ")) {
      continue;
    }
    ++cases;
    for (const DType dtype : {kFloat32, kFloat64}) {
      const std::vector<std::string> names = c.names("param.");
      std::vector<Variable> parameters;
      std::vector<Tensor> after;
      for (const std::string& name : names) {
        parameters.emplace_back(c.tensor("param." + name, dtype), true);
        after.emplace_back(c["steps.param." + name].shape(), dtype);
      }
      const auto optimizer = make(parameters, c.options());
      for (int64_t step = 0; step < after[0].size(0); ++step) {
        for (size_t i = 0; i < names.size(); ++i) {
          parameters[i].set_grad(
              c.tensor("steps.grad." + names[i], dtype)[step].clone());
        }
        optimizer->step();
        for (size_t i = 0; i < names.size(); ++i) {
          after[i][step].copy_(parameters[i].value());
        }
      }
      for (size_t i = 0; i < names.size(); ++i) {
        c.check("steps.param." + names[i], after[i]);
      }
    }
  }
  CHECK(cases > 0);
}

}  // namespace heed
