#pragma once

#include <string>
#include <vector>

namespace bench {

/// One operation, alone or with its backward. What a call does at least, 0
/// where that says little: an operation that must read its input and write its
/// result moves 8 bytes an element.
struct OpWorkload {
  std::string name;
  double flops;
  double bytes;
};

const std::vector<OpWorkload>& op_workloads();
/// Throws std::invalid_argument when there is none of that name.
const OpWorkload& op_workload(const std::string& name);

}  // namespace bench
