#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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
// and what training leaves beside it:
//
//   settings.toml           what it was told
//   checkpoint.safetensors  what it goes on from
//   kept/                   weights to be averaged, as checkpoints
//   log.jsonl, curves.svg   how it went

inline constexpr const char* kDescriptionFile = "translate.json";
inline constexpr const char* kVocabularyFile = "vocabulary";
inline constexpr const char* kWeightsFile = "model.safetensors";
inline constexpr const char* kSettingsFile = "settings.toml";
inline constexpr const char* kCheckpointFile = "checkpoint.safetensors";
inline constexpr const char* kKeptFolder = "kept";
inline constexpr const char* kLogFile = "log.jsonl";
inline constexpr const char* kCurvesFile = "curves.svg";

/// What is written with weights.
struct WeightsInfo {
  int64_t step = 0;
  Score valid;
};

/// The files of a model that are in the folder: those named above, and the
/// checkpoints in kept/.
std::vector<std::string> model_files(const std::string& folder);

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
