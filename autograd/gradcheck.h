#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "autograd/variable.h"

namespace heed {

struct GradcheckOptions {
  double eps = 1.0 / 1024;    ///< Step h; the function is seen at x +- 2h.
  double atol = 1e-8;         ///< |analytic - numeric| may be atol
  double rtol = 1e-7;         ///< + rtol * |numeric|.
  uint64_t seed = 0;          ///< Of the random weights of the outputs.
  bool allow_unused = false;  ///< An input may play no part in the outputs.
};

/// An element whose gradient is wrong.
struct GradcheckMismatch {
  int64_t input = 0;  ///< Position in the list of inputs.
  Dims index;         ///< Of the element in that input.
  double analytic = 0;
  double numeric = 0;
};

/// What gradcheck found: `if (!report) std::cerr << report;`
struct GradcheckReport {
  bool ok = true;
  std::string message;            ///< In words: what is wrong, or how good.
  int64_t elements = 0;           ///< How many were compared.
  double largest_difference = 0;  ///< Between analytic and numeric.
  std::vector<GradcheckMismatch> mismatches;

  explicit operator bool() const { return ok; }
};

/// Writes the message.
std::ostream& operator<<(std::ostream& out, const GradcheckReport& report);

using GradcheckFunction = std::function<Variable(const std::vector<Variable>&)>;
using GradcheckVectorFunction =
    std::function<std::vector<Variable>(const std::vector<Variable>&)>;

/// Compares the gradients that backward computes with differences of the
/// function's values, for each element x of each input that requires one:
///
///     dL/dx ~ (8 (L(x + h) - L(x - h)) - (L(x + 2h) - L(x - 2h))) / 12h
///     L = sum over all output elements of weight * output
///
/// with fixed random weights, since a plain sum hides errors (a softmax sums to
/// 1 whatever its input). The error of the stencil is about h^4, so float64 is
/// required and tolerances are tight. Keep inputs 2h away from kinks.
///
/// Also wrong are an input without effect (unless allowed), values that are not
/// finite, a function that gives other values when called again or when an
/// input is strided, and one that writes to its inputs.
///
/// The function is called with leaves of the inputs' values, strides included
/// (for the differences, with copies), never with the inputs themselves, and
/// must use what it is given: to check a layer's weight, hand it in. The inputs
/// stay as they are, also after an exception.
/// Throws std::invalid_argument when no input requires a gradient, or one that
/// does or an output is not float64; and whatever the function throws.
GradcheckReport gradcheck(
    const GradcheckFunction& function,
    const std::vector<Variable>& inputs,
    const GradcheckOptions& options = {});
/// As above for a function of several outputs.
GradcheckReport gradcheck(
    const GradcheckVectorFunction& function,
    const std::vector<Variable>& inputs,
    const GradcheckOptions& options = {});

/// Checks second derivatives: gradcheck of the function that takes the inputs
/// and the gradients of the outputs to the gradients of the inputs, computed
/// with create_graph. These must equal the ones computed without, too. In the
/// report, the gradients of the outputs are counted as further inputs.
/// Throws as gradcheck.
GradcheckReport gradgradcheck(
    const GradcheckFunction& function,
    const std::vector<Variable>& inputs,
    const GradcheckOptions& options = {});
/// As above for a function of several outputs.
GradcheckReport gradgradcheck(
    const GradcheckVectorFunction& function,
    const std::vector<Variable>& inputs,
    const GradcheckOptions& options = {});

}  // namespace heed
