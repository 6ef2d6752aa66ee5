#pragma once

#include <string>
#include <vector>

#include "examples/translate/training_log.h"

namespace translate {

/// Draws the losses and BLEU of a training run over its steps, as an SVG file.
void draw_curves(
    const std::string& path, const std::vector<TrainingLog::Record>& records);

}  // namespace translate
