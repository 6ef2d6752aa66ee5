#pragma once

#include <string>
#include <vector>

namespace translate {

struct ChrfOptions {
  bool lowercase = false;
};

/// chrF2 of a whole text, 0 to 100, as sacreBLEU computes it by default
/// (Popovic 2015, W15-3049): n-grams of characters without white space, counted
/// over all lines whose reference is n characters long at least, n = 1 ... 6;
/// precision and recall are means over the n of which both sides have any, and
///
///     chrF2 = 100 * 5 * precision * recall / (4 * precision + recall)
///
/// 0 when nothing matches. Throws std::invalid_argument unless there are as
/// many hypotheses as references.
double chrf2(
    const std::vector<std::string>& hypotheses,
    const std::vector<std::string>& references,
    const ChrfOptions& options = {});

/// What one needs to know to compare scores, in sacreBLEU's words.
std::string chrf2_signature(const ChrfOptions& options = {});

}  // namespace translate
