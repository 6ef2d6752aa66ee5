#pragma once

#include "nn/module.h"
#include "tensor/dropout.h"

namespace heed {

struct DropoutOptions {
  double p = 0.5;  ///< Probability that an element is dropped, in [0, 1].
  Generator& generator = default_generator();
};

/// Sets elements to 0 with probability p and scales the others by 1 / (1 - p),
/// in training mode only (Srivastava et al. 2014). The same seed drops the same
/// elements for any number of threads.
///
/// Shape:       x [*] -> y [*]
class Dropout : public Layer {
 public:
  /// Throws std::invalid_argument unless p is in [0, 1].
  explicit Dropout(const DropoutOptions& options = {});

  Variable forward(const Variable& x) const override;
  /// What forward would draw for n elements, for operations that drop as they
  /// go: taken from the generator in training mode, else p = 0.
  DropoutDraw draw(int64_t n) const;
  std::string describe() const override;

 private:
  double p_;
  Generator& generator_;
};

}  // namespace heed
