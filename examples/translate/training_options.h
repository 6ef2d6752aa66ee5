#pragma once

#include "examples/translate/command_line.h"
#include "examples/translate/training_settings.h"

namespace translate {

/// Reads the options of `translate train`. Later ones win: those of the preset,
/// of the --config file (with --resume, the model's settings.toml), of the
/// command line.
ParseResult parse_training(int argc, char** argv, TrainingSettings& settings);

/// What the folder's settings.toml says. Throws std::runtime_error when there
/// is none, std::invalid_argument when it cannot be read.
TrainingSettings read_config(const std::string& folder);
/// Writes the model's settings.toml, which --config reads: bit for bit.
void write_config(const TrainingSettings& settings);

}  // namespace translate
