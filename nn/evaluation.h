#pragma once

#include <utility>
#include <vector>

#include "autograd/grad_mode.h"
#include "nn/module.h"

namespace heed {

/// While it lives a module is in evaluation mode and nothing is recorded;
/// afterwards it and all modules within are in the modes that they were in.
class Evaluation {
 public:
  explicit Evaluation(Module& module) {
    module.apply([this](Module& part) {
      modes_.emplace_back(&part, part.is_training());
    });
    module.eval();
  }
  ~Evaluation() {
    // The outer modules stand last; train() takes the inner ones along.
    for (auto it = modes_.rbegin(); it != modes_.rend(); ++it) {
      it->first->train(it->second);
    }
  }
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

 private:
  std::vector<std::pair<Module*, bool>> modes_;  // inner modules first
  NoGradGuard no_grad_;
};

}  // namespace heed
