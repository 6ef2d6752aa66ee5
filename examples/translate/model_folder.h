#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "examples/translate/score.h"
#include "examples/translate/translation_model.h"

namespace translate {

// A model is a folder:
//
//   translate.json          the format's version, architecture, kind of
//                           vocabulary, task
//   vocabulary              what Vocabulary::to_bytes() gives
//   model.safetensors       the weights, with step and scores
//
// and what training leaves beside it: settings.toml, log.jsonl, curves.svg,
// checkpoint.safetensors and the weights in kept/.

inline constexpr const char* kDescriptionFile = "translate.json";
inline constexpr const char* kVocabularyFile = "vocabulary";
inline constexpr const char* kWeightsFile = "model.safetensors";

/// What is written with weights.
struct WeightsInfo {
  int64_t step = 0;
  Score valid;
};

/// Writes everything but the weights.
void save_description(const std::string& folder, const TranslationModel& model);
/// The model without its weights. Throws std::runtime_error for a folder that
/// is none, of another version, or damaged, as load_model.
std::unique_ptr<TranslationModel> load_description(const std::string& folder);

void save_weights(
    const std::string& path,
    const TranslationModel& model,
    const WeightsInfo& info);
/// Throws std::runtime_error for a file that is damaged or of another model,
/// and changes nothing then.
WeightsInfo load_weights(const std::string& path, TranslationModel& model);
/// Ready to translate.
std::unique_ptr<TranslationModel> load_model(
    const std::string& folder, WeightsInfo* info = nullptr);

}  // namespace translate
