#pragma once

#include <map>
#include <string>

#include "tensor/state_dict.h"

namespace heed {

/// What a safetensors file holds.
struct Safetensors {
  StateDict tensors;
  std::map<std::string, std::string> metadata;
};

/// Writes named tensors, each as its own dtype, and texts about them:
///
///     save_safetensors("model.safetensors", model.state_dict());
///
/// Equal tensors give equal bytes. The file is replaced as a whole or stays
/// what it was (AtomicFile).
/// Throws std::invalid_argument for an undefined tensor, for a name or text
/// that is not UTF-8 and for a tensor named "__metadata__"; std::runtime_error
/// when the file cannot be written.
void save_safetensors(
    const std::string& path,
    const StateDict& tensors,
    const std::map<std::string, std::string>& metadata = {});

/// Reads a safetensors file:
///
///     model.load_state_dict(load_safetensors("model.safetensors").tensors);
///
/// F16 and BF16 become float32; I8, I16, I32, U8, U16 and U32 int64.
/// Throws std::runtime_error that names the file when it cannot be read, is
/// shorter or longer than its header says, or is no safetensors file in any
/// other way; memory is asked for only for what the file has.
Safetensors load_safetensors(const std::string& path);

}  // namespace heed
