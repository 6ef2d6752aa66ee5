#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/state_dict.h"

namespace heed {

/// The mean of the models in checkpoints, number by number, as the paper of the
/// Transformer translates with (Vaswani et al. 2017, section 6.1):
///
///     model.load_state_dict(average_models({"a.safetensors", ...}));
///
/// Sums are float64 and in the order of the paths' names, so that the result is
/// the same, bit for bit, in whatever order they are given. Integers and bools
/// must be equal in all.
/// Throws std::invalid_argument for no path at all and for one given twice;
/// std::runtime_error, which names the file, as load_checkpoint and when a
/// model has other names, shapes or dtypes than the first.
StateDict average_models(std::vector<std::string> paths);

/// The mean of the `count` latest models in a folder, by checkpoints_in().
/// Throws std::invalid_argument unless count >= 1, std::runtime_error when the
/// folder has fewer and as average_models.
StateDict average_last_models(const std::string& folder, int64_t count);

}  // namespace heed
