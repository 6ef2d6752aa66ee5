#pragma once

#include "examples/translate/command_line.h"
#include "examples/translate/training_settings.h"

namespace translate {

/// Reads the options of `translate train`. Later ones win: those of the preset,
/// of the --config file (with --resume, the model's settings.toml), of the
/// command line.
ParseResult parse_training(int argc, char** argv, TrainingSettings& settings);

/// Writes the model's settings.toml, which --config reads.
void write_config(const TrainingSettings& settings);

}  // namespace translate
