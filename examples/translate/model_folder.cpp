#include "examples/translate/model_folder.h"

#include <heed/optim/checkpoint.h>
#include <heed/tensor/error.h>
#include <heed/tensor/safetensors.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "examples/output_file.h"

namespace translate {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char* kFormat = "heed translate";
constexpr int kVersion = 1;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  if (!file || fs::is_directory(path)) {
    heed::fail<std::runtime_error>(path, "cannot be read");
  }
  return bytes.str();
}

// Leaves out what is nested deeper than any description is.
bool is_shallow(int depth, Json::parse_event_t, Json&) { return depth <= 8; }

// Null where there is none.
Json value_of(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) ? object.at(key) : Json();
}

}  // namespace

std::vector<std::string> model_files(const std::string& folder) {
  const fs::path at(folder);
  std::vector<std::string> files =
      heed::checkpoints_in((at / kKeptFolder).string());
  for (const char* name :
       {kDescriptionFile,
        kVocabularyFile,
        kWeightsFile,
        kSettingsFile,
        kCheckpointFile,
        kLogFile,
        kCurvesFile}) {
    if (fs::exists(at / name)) {
      files.push_back((at / name).string());
    }
  }
  return files;
}

void save_description(
    const std::string& folder, const TranslationModel& model) {
  fs::create_directories(folder);
  const fs::path at(folder);
  examples::write_file(
      (at / kVocabularyFile).string(), model.vocabulary->to_bytes());
  const Json description = {
      {"format", kFormat},
      {"version", kVersion},
      {"task", model.task},
      {"vocabulary", model.vocabulary->kind()},
      {"architecture", to_json(model.architecture)}};
  examples::write_file(
      (at / kDescriptionFile).string(), description.dump(2) + "\n");
}

std::unique_ptr<TranslationModel> load_description(const std::string& folder) {
  const fs::path at(folder);
  if (!fs::is_directory(at)) {
    heed::fail<std::runtime_error>(folder, "must be a model's folder");
  }
  const std::string path = (at / kDescriptionFile).string();
  const Json description =
      Json::parse(read_file(path), is_shallow, /*allow_exceptions=*/false);
  const Json format = value_of(description, "format");
  const Json version = value_of(description, "version");
  if (format != kFormat) {
    heed::fail<std::runtime_error>(path, "must describe a translate model");
  }
  if (version != kVersion) {
    heed::fail<std::runtime_error>(
        path,
        "must be of version ",
        kVersion,
        ", got version ",
        version.dump());
  }
  try {
    return std::make_unique<TranslationModel>(
        architecture_from(description.at("architecture")),
        load_vocabulary(
            description.at("vocabulary").get<std::string>(),
            read_file((at / kVocabularyFile).string())),
        description.at("task").get<std::string>());
  } catch (const std::exception& error) {
    heed::fail<std::runtime_error>(path, error.what());
  }
}

void save_weights(
    const std::string& path,
    const TranslationModel& model,
    const WeightsInfo& info) {
  heed::save_safetensors(
      path,
      model.transformer.state_dict(),
      {{"step", std::to_string(info.step)},
       {"valid", to_json(info.valid).dump()}});
}

WeightsInfo load_weights(const std::string& path, TranslationModel& model) {
  if (!fs::exists(path)) {
    heed::fail<std::runtime_error>(
        path, "is not there yet: weights are kept after an evaluation");
  }
  const heed::Safetensors file = heed::load_safetensors(path);
  try {
    model.transformer.load_state_dict(file.tensors);
    WeightsInfo info;
    info.step = std::stoll(file.metadata.at("step"));
    info.valid = score_from(Json::parse(file.metadata.at("valid")));
    return info;
  } catch (const std::exception& error) {
    heed::fail<std::runtime_error>(path, error.what());
  }
}

std::unique_ptr<TranslationModel> load_model(
    const std::string& folder, WeightsInfo* info) {
  std::unique_ptr<TranslationModel> model = load_description(folder);
  const WeightsInfo loaded =
      load_weights((fs::path(folder) / kWeightsFile).string(), *model);
  if (info != nullptr) {
    *info = loaded;
  }
  return model;
}

}  // namespace translate
