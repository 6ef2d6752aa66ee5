#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "examples/translate/batches.h"
#include "examples/translate/parallel_text.h"
#include "examples/translate/translation_model.h"

namespace translate {

/// How well a model does on text that it does not learn from.
struct Score {
  double loss = 0;         ///< Cross-entropy a target token, without smoothing.
  double bleu = 0;         ///< Of greedy translations; see text_bleu().
  double exact_match = 0;  ///< Share of lines translated exactly.

  double perplexity() const;
};

nlohmann::ordered_json to_json(const Score& score);
/// Throws nlohmann's exceptions for what to_json did not write.
Score score_from(const nlohmann::ordered_json& json);

/// BLEU as sacreBLEU's default has it, on text. Number words and dates are one
/// word a line, without any 4-gram: these are scored in the model's pieces.
double text_bleu(
    const TranslationModel& model,
    const std::vector<std::string>& hypotheses,
    const std::vector<std::string>& references);

/// Without dropout, whatever the model's mode. `pairs` are those of `text`.
Score score(
    TranslationModel& model,
    const ParallelText& text,
    const std::vector<Pair>& pairs,
    int64_t batch_tokens);

}  // namespace translate
