#include "examples/translate/trainer.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "examples/translate/model_folder.h"
#include "tests/examples/translate/small_model.h"
#include "tests/temporary_folder.h"

using namespace translate;

namespace {

Dataset small_data() {
  Dataset data;
  for (int64_t n = 0; n < 40; ++n) {
    data.train.add(english_number(n * n * 61), german_number(n * n * 61));
  }
  data.valid.add(english_number(77), german_number(77));
  return data;
}

TrainingSettings small_settings(const std::string& folder) {
  TrainingSettings s = preset_settings("toy");
  s.model = folder;
  s.steps = 8;
  s.schedule = "constant";
  s.lr = 1e-2;
  s.warmup_steps = 0;
  s.batch_tokens = 64;
  s.eval_every = 4;
  s.keep = 2;
  return s;
}

std::vector<double> weights_of(const TranslationModel& model) {
  std::vector<double> all;
  for (const heed::Variable& parameter : model.transformer.parameters()) {
    const std::vector<double> some = parameter.value().to_vector<double>();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

}  // namespace

TEST_CASE("Trainer: batches added up are one batch, whatever their tokens") {
  // A pair of 2 tokens and one of 9. With so large an eps Adam's update is the
  // gradient, not its sign.
  const heed::TemporaryFolder folder;
  Dataset data;
  data.train.add("one", "eins");
  data.train.add(english_number(274'381), german_number(274'381));
  data.valid = data.train;
  std::vector<std::vector<double>> results;
  for (int64_t accumulate : {1, 2}) {
    TrainingSettings s = small_settings(folder / std::to_string(accumulate));
    s.steps = 1;
    s.eps = 1e3;
    s.lr = 1e3;
    s.keep = 1;
    s.max_norm = 0;
    s.accumulate = accumulate;
    s.batch_tokens = accumulate == 1 ? 100 : 1;
    const auto model = small_model();
    save_description(s.model, *model);
    Trainer(s, *model, data).run();
    results.push_back(weights_of(*model));
  }
  const std::vector<double> start = weights_of(*small_model());
  double moved = 0;
  for (size_t i = 0; i < start.size(); ++i) {
    moved = std::max(moved, std::abs(results[0][i] - start[i]));
    CHECK(std::abs(results[0][i] - results[1][i]) < 1e-6);
  }
  CHECK(moved > 1e-3);
}

TEST_CASE("Trainer: a run that goes on is the run that never stopped") {
  const heed::TemporaryFolder folder;
  const Dataset data = small_data();
  const TrainingSettings whole = small_settings(folder / "whole");
  {
    const auto model = small_model(0.2);
    save_description(whole.model, *model);
    Trainer(whole, *model, data).run();
  }
  TrainingSettings parts = small_settings(folder / "parts");
  {
    parts.steps = 4;
    const auto model = small_model(0.2);
    save_description(parts.model, *model);
    Trainer(parts, *model, data).run();
  }
  {
    parts.steps = 8;
    heed::manual_seed(99);  // the checkpoint knows better
    const auto model = load_description(parts.model);
    Trainer trainer(parts, *model, data);
    trainer.resume();
    CHECK(trainer.run().steps == 8);
  }
  for (const char* file :
       {"/model.safetensors",
        "/kept/checkpoint-00000004.safetensors",
        "/kept/checkpoint-00000008.safetensors"}) {
    const std::string bytes = bytes_of(whole.model + file);
    CHECK(!bytes.empty());
    CHECK((bytes == bytes_of(parts.model + file)));
  }
}

TEST_CASE("Trainer: going on needs a checkpoint of the same model") {
  const heed::TemporaryFolder folder;
  const Dataset data = small_data();
  TrainingSettings s = small_settings(folder / "model");
  const auto model = small_model();
  save_description(s.model, *model);
  Trainer trainer(s, *model, data);
  CHECK_THROWS_AS(trainer.resume(), std::runtime_error);
  std::ofstream(s.model + "/checkpoint.safetensors") << "junk";
  CHECK_THROWS_AS(trainer.resume(), std::runtime_error);
}

TEST_CASE("Trainer: no pair short enough is an error") {
  const Dataset data = small_data();
  TrainingSettings s = small_settings("nowhere");
  s.max_tokens = 0;
  const auto model = small_model();
  CHECK_THROWS_AS(Trainer(s, *model, data), std::invalid_argument);
}

TEST_CASE("Trainer: leaves a log, curves and the weights asked for") {
  const heed::TemporaryFolder folder;
  const Dataset data = small_data();
  const TrainingSettings s = small_settings(folder / "model");
  const auto model = small_model();
  save_description(s.model, *model);
  const TrainingResult result = Trainer(s, *model, data).run();
  CHECK(result.steps == 8);
  CHECK(result.valid.loss > 0);
  std::istringstream log(bytes_of(s.model + "/log.jsonl"));
  int64_t evaluations = 0;
  for (std::string line; std::getline(log, line);) {
    evaluations += nlohmann::json::parse(line).contains("valid_loss") ? 1 : 0;
  }
  CHECK(evaluations == 2);
  CHECK(bytes_of(s.model + "/curves.svg").find("</svg>") != std::string::npos);
}
