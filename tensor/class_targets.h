#pragma once

#include <cstdint>
#include <string_view>

#include "tensor/tensor.h"

namespace heed {

/// The number of `targets` that are not `ignore_index`.
/// Throws std::invalid_argument in the name of `who` unless `targets` is an
/// int64 tensor of the shape of `scores` without its last dimension, each in
/// [0, classes) or ignore_index.
int64_t check_class_targets(
    std::string_view who,
    const Tensor& scores,
    const Tensor& targets,
    int64_t ignore_index);

}  // namespace heed
