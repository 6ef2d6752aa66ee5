#include "examples/translate/model_folder.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "examples/translate/translator.h"
#include "tests/examples/translate/small_model.h"
#include "tests/temporary_folder.h"

using namespace translate;

namespace {

void save(const std::string& folder, const TranslationModel& model) {
  save_description(folder, model);
  save_weights(
      folder + "/" + kWeightsFile,
      model,
      {.step = 7, .valid = {.loss = 1.5, .bleu = 2.5, .exact_match = 0.5}});
}

void overwrite(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace

TEST_CASE("load_model: a saved model translates as before") {
  const heed::TemporaryFolder folder;
  const auto model = small_model();
  const std::string path = folder / "model";
  save(path, *model);
  WeightsInfo info;
  const auto again = load_model(path, &info);
  CHECK(info.step == 7);
  CHECK(info.valid.bleu == 2.5);
  CHECK(again->task == "numbers");
  CHECK(again->architecture.norm_first);
  const std::vector<std::string> lines = {"one", "two hundred and six"};
  CHECK(translate_greedily(*again, lines) == translate_greedily(*model, lines));
}

TEST_CASE("load_model: foreign and damaged folders are named") {
  const heed::TemporaryFolder folder;
  const std::string path = folder / "model";
  CHECK_THROWS_WITH_AS(
      load_model(path),
      (path + ": must be a model's folder").c_str(),
      std::runtime_error);
  const auto model = small_model();
  const std::string description = path + "/" + kDescriptionFile;
  for (const char* bytes :
       {"",
        "{",
        "[]",
        "{\"format\": 5}",
        "{\"format\": \"heed translate\", \"version\": 2}",
        "{\"format\": \"heed translate\", \"version\": \"x\"}",
        "{\"format\": \"heed translate\", \"version\": 1}"}) {
    save(path, *model);
    overwrite(description, bytes);
    CHECK_THROWS_AS(load_model(path), std::runtime_error);
  }
  save(path, *model);
  overwrite(path + "/" + kVocabularyFile, "junk");
  CHECK_THROWS_AS(load_model(path), std::runtime_error);
}

TEST_CASE(
    "load_model: weights that were cut off or are another's are refused") {
  const heed::TemporaryFolder folder;
  const std::string path = folder / "model";
  const std::string weights = path + "/" + kWeightsFile;
  const auto model = small_model();
  save(path, *model);
  std::filesystem::resize_file(
      weights, std::filesystem::file_size(weights) - 1);
  CHECK_THROWS_AS(load_model(path), std::runtime_error);

  heed::manual_seed(1);
  const TranslationModel other(
      {.num_encoder_layers = 1,
       .num_decoder_layers = 1,
       .d_model = 8,
       .num_heads = 2,
       .d_ff = 8},
      std::make_unique<PieceVocabulary>(number_pieces()),
      "numbers");
  save_weights(weights, other, {});
  CHECK_THROWS_AS(load_model(path), std::runtime_error);
}
