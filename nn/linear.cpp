#include "nn/linear.h"

#include <cmath>
#include <sstream>

#include "autograd/linear.h"
#include "nn/init.h"

namespace heed {

Linear::Linear(
    int64_t in_features, int64_t out_features, const LinearOptions& options)
    : in_features_(in_features), out_features_(out_features) {
  if (in_features <= 0 || out_features <= 0) {
    fail(
        "Linear",
        "in_features and out_features must be positive, got ",
        in_features,
        " and ",
        out_features);
  }
  const double bound = 1 / std::sqrt(static_cast<double>(in_features));
  const init::InitOptions start{options.dtype, options.generator};
  weight_ = add_parameter(
      "weight",
      init::uniform({out_features, in_features}, -bound, bound, start));
  if (options.bias) {
    bias_ = add_parameter(
        "bias", init::uniform({out_features}, -bound, bound, start));
  }
}

Variable Linear::forward(const Variable& x) const {
  if (x.dim() == 0 || x.shape().back() != in_features_) {
    fail(
        "Linear",
        "x must have shape [..., ",
        in_features_,
        "], got ",
        x.shape());
  }
  return linear(x, weight_, bias_);
}

void Linear::tie_weight(const Variable& other) {
  tie_parameter("weight", other);
  weight_ = other;
}

std::string Linear::describe() const {
  std::ostringstream out;
  out << "Linear(in_features=" << in_features_
      << ", out_features=" << out_features_
      << ", bias=" << (bias_.defined() ? "true" : "false") << ')';
  return out.str();
}

}  // namespace heed
