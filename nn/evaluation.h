#pragma once

#include "autograd/grad_mode.h"
#include "nn/module.h"

namespace heed {

/// While it lives a module is in evaluation mode and nothing is recorded;
/// afterwards the module is in the mode that it was in.
class Evaluation {
 public:
  explicit Evaluation(Module& module)
      : module_(module), was_training_(module.is_training()) {
    module_.eval();
  }
  ~Evaluation() { module_.train(was_training_); }
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

 private:
  Module& module_;
  bool was_training_;
  NoGradGuard no_grad_;
};

}  // namespace heed
