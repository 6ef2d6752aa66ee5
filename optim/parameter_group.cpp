#include "optim/parameter_group.h"

namespace heed {

NamedGroups group_by_name(
    const std::vector<std::pair<std::string, Variable>>& named_parameters,
    const std::function<bool(const std::string&)>& matches) {
  NamedGroups groups;
  for (const auto& [name, parameter] : named_parameters) {
    (matches(name) ? groups.matching : groups.others).push_back(parameter);
  }
  return groups;
}

}  // namespace heed
