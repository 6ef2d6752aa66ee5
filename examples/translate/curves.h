#pragma once

#include <string>
#include <vector>

#include "examples/translate/training_log.h"

namespace translate {

/// Draws the losses and BLEU of a training run over its steps, as an SVG file.
/// With label smoothing the training's loss is of another kind than the
/// validation's: the curve's name says so.
void draw_curves(
    const std::string& path,
    const std::vector<TrainingLog::Record>& records,
    double label_smoothing);

}  // namespace translate
