#pragma once

#include "tensor/generator.h"
#include "tensor/tensor.h"

namespace heed {

/// A dropout whose mask is settled: the one that a generator in state `start`
/// would draw. Nothing is drawn when p is 0.
struct DropoutDraw {
  double p = 0;  ///< Probability that an element is dropped, in [0, 1].
  GeneratorState start = {};
};

/// Sets each element to 0 with probability p and scales the others, so that the
/// mean stays (Srivastava et al. 2014):
///
///     y = 0 or x / (1 - p)
///
/// p = 0 returns x and draws nothing; p = 1 gives zeros. Element i, in
/// row-major order, depends on number i of the draw alone, hence not on the
/// number of threads.
/// Shape: x [*] -> y [*].
/// Throws std::invalid_argument unless x is floating and 0 <= p <= 1.
Tensor dropout(const Tensor& x, double p, Generator& generator);

/// The same with the mask that a generator in state `start` would draw.
Tensor dropout(const Tensor& x, double p, const GeneratorState& start);

/// The same, and what it kept: a bit an element, for dropout_backward to read.
struct DropoutForward {
  Tensor y;
  Tensor kept;
};
DropoutForward dropout_forward(
    const Tensor& x, double p, const GeneratorState& start);

/// dx = dy / (1 - p) where the forward kept x, else 0.
/// Throws std::invalid_argument unless `kept` is of a dropout_forward of dy's
/// number of elements, and as dropout.
Tensor dropout_backward(const Tensor& dy, double p, const Tensor& kept);

/// A residual connection, in one pass:
///
///     y = x + dropout(branch)
///
/// Shape: x [*], branch [*] -> y [*], all the same.
/// Throws std::invalid_argument unless shapes and dtypes are those, and as
/// dropout.
Tensor add_dropout(
    const Tensor& x, const Tensor& branch, const DropoutDraw& draw);

/// Throw in the name of `who` as dropout and add_dropout do, without drawing.
void check_dropout(std::string_view who, const Tensor& x, double p);
void check_add_dropout(
    std::string_view who, const Tensor& x, const Tensor& branch, double p);

}  // namespace heed
