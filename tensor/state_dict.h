#pragma once

#include <map>
#include <string>

#include "tensor/tensor.h"

namespace heed {

/// Tensors by dotted name, as PyTorch names them: the state of a model or of an
/// optimizer.
using StateDict = std::map<std::string, Tensor>;

}  // namespace heed
