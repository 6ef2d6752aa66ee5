#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tensor/generator.h"
#include "tensor/state_dict.h"

namespace heed {

/// All that a training run goes on from, in one file:
///
///     save_checkpoint(
///         path,
///         {.model = model.state_dict(),
///          .optimizer = optimizer.state_dict(),
///          .generators = {{"dropout", default_generator().state()}},
///          .step = optimizer.steps(),
///          .texts = {{"options", options_as_text}}});
///
///     const Checkpoint from = load_checkpoint(path);
///     model.load_state_dict(from.model);
///     optimizer.load_state_dict(from.optimizer);
///     default_generator().set_state(from.generators.at("dropout"));
///
/// A run that takes up all of it is the same, bit for bit, as one that never
/// stopped. A Schedule is a function of the step and needs nothing kept. An
/// order drawn for each pass through the data is drawn again from the state its
/// generator had before, which is therefore the one to keep.
struct Checkpoint {
  StateDict model = {};      ///< Module::state_dict()
  StateDict optimizer = {};  ///< Optimizer::state_dict()
  /// Under names of the program's own, as texts.
  std::map<std::string, GeneratorState> generators = {};
  int64_t step = 0;      ///< Updates done.
  int64_t epoch = 0;     ///< Passes through the data done.
  int64_t position = 0;  ///< In the data of this pass.
  /// What else there is: options, a vocabulary, scores.
  std::map<std::string, std::string> texts = {};
};

/// Writes a checkpoint: a safetensors file with the tensors model.* and
/// optimizer.*, the rest in its metadata. The file is replaced as a whole or
/// stays what it was, even when the process is killed meanwhile (AtomicFile).
/// Throws std::invalid_argument for negative numbers and as save_safetensors;
/// std::runtime_error when the file cannot be written.
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);

/// Throws std::runtime_error that names the file when it cannot be read, is
/// damaged, no checkpoint, or one of another version.
Checkpoint load_checkpoint(const std::string& path);

/// The path for a checkpoint of many in one folder:
/// folder/checkpoint-00001200.safetensors. Throws std::invalid_argument unless
/// step >= 0.
std::string checkpoint_path(const std::string& folder, int64_t step);

/// The checkpoints in a folder, by name as checkpoint_path() gives it, the
/// earliest first; none when there is no such folder. What a killed process
/// left half written is none of them.
std::vector<std::string> checkpoints_in(const std::string& folder);

/// Removes all checkpoints in a folder but the `count` latest.
/// Throws std::invalid_argument unless count >= 1, std::runtime_error when a
/// file cannot be removed.
void keep_last_checkpoints(const std::string& folder, int64_t count);

}  // namespace heed
