#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "autograd/variable.h"

namespace heed {

/// Parameters that an optimizer treats alike, with the options for them.
template <typename Options>
struct ParameterGroup {
  std::vector<Variable> parameters;
  Options options;
};

/// What group_by_name() returns; the order of the parameters is kept.
struct NamedGroups {
  std::vector<Variable> matching;
  std::vector<Variable> others;
};

/// Parts parameters by their names. No weight decay on biases:
///
///     const auto [biases, weights] = group_by_name(
///         model.named_parameters(),
///         [](const std::string& name) { return name.ends_with("bias"); });
///     AdamW optimizer(
///         {{weights, {.weight_decay = 0.1}}, {biases, {.weight_decay = 0}}});
NamedGroups group_by_name(
    const std::vector<std::pair<std::string, Variable>>& named_parameters,
    const std::function<bool(const std::string&)>& matches);

}  // namespace heed
