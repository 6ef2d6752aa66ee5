#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/translate/translation_model.h"

namespace translate {

/// The greedy translation of each line; a blank line stays blank.
std::vector<std::string> translate_greedily(
    TranslationModel& model, const std::vector<std::string>& lines);

}  // namespace translate
