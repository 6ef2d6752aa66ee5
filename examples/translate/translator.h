#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/translate/translation_model.h"

namespace translate {

struct TranslatorOptions {
  int64_t beam = 5;          ///< 1: greedy.
  double alpha = 0.6;        ///< Of the length penalty.
  int64_t n_best = 1;        ///< Translations a line, at most.
  int64_t max_length = 256;  ///< Tokens of a translation, at most.
  int64_t batch = 32;        ///< Lines translated at a time.
};

/// One translation of a line.
struct Translation {
  std::string text;
  Ids ids;
  double score = 0;     ///< Log-probability over the length penalty.
  double log_prob = 0;  ///< The sum over its tokens.
};

/// What became of a line.
struct TranslatedLine {
  std::vector<Translation>
      best;          ///< All different, the best first; never none.
  bool cut = false;  ///< Whether only its start was translated.
};

/// A model is given no more tokens of a line, kEosId among them.
inline constexpr size_t kMaxSourceTokens = 1024;

/// A line as a model is given it.
struct Source {
  Ids ids;           ///< At most kMaxSourceTokens, the last one kEosId.
  bool cut = false;  ///< Whether there were more.
};

Source source_of(const TranslationModel& model, const std::string& line);

/// Says on the standard error that only the start of a line counts; `where`
/// names it: "translate run: line 3".
void warn_of_cut(const std::string& where);

/// The best translations of each line. Lines of about one length are translated
/// together; what a line gets does not depend on the others. A blank line gets
/// one blank translation.
std::vector<TranslatedLine> translate_lines(
    TranslationModel& model,
    const std::vector<std::string>& lines,
    const TranslatorOptions& options = {});

/// The likeliest next token each time: one translation a line.
std::vector<std::string> translate_greedily(
    TranslationModel& model, const std::vector<std::string>& lines);

}  // namespace translate
