#include "examples/translate/trainer.h"

#include <doctest/doctest.h>
#include <heed/optim/checkpoint.h>
#include <heed/tensor/creation.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
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

// Makes all weights of a row what `value_of` gives for it.
void set_weights(
    TranslationModel& model,
    const std::string& name,
    const std::function<double(int64_t)>& value_of) {
  heed::StateDict state = model.transformer.state_dict();
  const heed::Tensor& old = state.at(name);
  const int64_t width = old.dim() > 1 ? old.size(1) : 1;
  std::vector<float> values;
  for (int64_t i = 0; i < old.numel(); ++i) {
    values.push_back(static_cast<float>(value_of(i / width)));
  }
  state.at(name) = heed::from_vector(values, old.shape());
  model.transformer.load_state_dict(state);
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

TEST_CASE("Trainer: pairs that are too long are left out, but not all") {
  const Dataset data = small_data();
  TrainingSettings s = small_settings("nowhere");
  const auto model = small_model();
  CHECK(Trainer(s, *model, data).num_pairs() == 40);
  s.max_tokens = 5;
  const size_t short_ones = Trainer(s, *model, data).num_pairs();
  CHECK(short_ones > 0);
  CHECK(short_ones < 40);
  s.max_tokens = 0;
  CHECK_THROWS_WITH_AS(
      Trainer(s, *model, data),
      "translate train: --max-tokens must leave a pair, got 0 for 40 pairs",
      std::invalid_argument);
}

TEST_CASE("Trainer: the log of a run that goes on is that of a straight one") {
  const heed::TemporaryFolder folder;
  const Dataset data = small_data();
  std::vector<std::string> losses;  // of the updates 31 to 50, and more
  for (const auto& stops : {std::vector<int64_t>{60}, {30, 60}}) {
    TrainingSettings s = small_settings(folder / std::to_string(stops.size()));
    s.eval_every = 30;
    for (int64_t stop : stops) {
      s.steps = stop;
      const auto model = small_model(0.2);
      Trainer trainer(s, *model, data);
      if (stop == stops.front()) {
        save_description(s.model, *model);
      } else {
        trainer.resume();
      }
      trainer.run();
    }
    std::string kept;
    std::istringstream log(bytes_of(s.model + "/log.jsonl"));
    for (std::string line; std::getline(log, line);) {
      auto record = nlohmann::json::parse(line);
      for (const char* clock :
           {"train_tokens_per_s", "seconds", "memory_bytes"}) {
        record.erase(clock);
      }
      kept += record.dump() + "\n";
    }
    losses.push_back(kept);
  }
  CHECK(losses[0].find("\"loss\"") != std::string::npos);
  CHECK(losses[0] == losses[1]);
}

TEST_CASE("Trainer: a run that ended before its first evaluation goes on") {
  const heed::TemporaryFolder folder;
  const Dataset data = small_data();
  const TrainingSettings whole = small_settings(folder / "whole");
  {
    const auto model = small_model(0.2);
    save_description(whole.model, *model);
    Trainer(whole, *model, data).run();
  }
  const TrainingSettings killed = small_settings(folder / "killed");
  const std::string checkpoint = killed.model + "/" + kCheckpointFile;
  const std::string curves = killed.model + "/" + kCurvesFile;  // in the way
  {
    const auto model = small_model(0.2);
    save_description(killed.model, *model);
    std::filesystem::create_directory(curves);
    CHECK_THROWS_AS(Trainer(killed, *model, data).run(), std::runtime_error);
    std::filesystem::remove(curves);
    CHECK(heed::load_checkpoint(checkpoint).step == 0);
  }
  const auto model = load_description(killed.model);
  Trainer trainer(killed, *model, data);
  trainer.resume();
  CHECK(trainer.run().steps == 8);
  CHECK(
      (bytes_of(killed.model + "/model.safetensors") ==
       bytes_of(whole.model + "/model.safetensors")));
}

TEST_CASE("Trainer: fewer weights are kept when a run goes on with fewer") {
  const heed::TemporaryFolder folder;
  const Dataset data = small_data();
  TrainingSettings s = small_settings(folder / "model");
  s.eval_every = 2;
  s.keep = 4;
  for (int64_t keep : {4, 2}) {
    const auto model = small_model();
    Trainer trainer(s, *model, data);
    s.keep = keep;
    if (keep == 4) {
      save_description(s.model, *model);
    } else {
      s.steps = 10;
      trainer.resume();
    }
    trainer.run();
    CHECK(
        heed::checkpoints_in(s.model + "/kept").size() ==
        static_cast<size_t>(keep));
  }
}

TEST_CASE("Trainer: a gradient that is not finite moves no weight") {
  // Logits of 0 and a finite loss, but a gradient beyond float's range.
  const heed::TemporaryFolder folder;
  Dataset data;
  data.train.add("one", "");
  data.valid = data.train;
  TrainingSettings s = small_settings(folder / "model");
  s.max_norm = 0;
  const auto model = small_model(0, "none");
  set_weights(*model, "decoder.norm.weight", [](int64_t) { return 0.0; });
  set_weights(*model, "output_proj.weight", [](int64_t row) {
    return row == kEosId ? 3e38 : 0.0;
  });
  save_description(s.model, *model);
  const std::vector<double> before = weights_of(*model);
  CHECK_THROWS_WITH_AS(
      Trainer(s, *model, data).run(),
      "translate train: the gradient's norm must be finite, got inf in update "
      "1; a lower --lr or --max-norm 1 may help",
      std::runtime_error);
  CHECK(weights_of(*model) == before);
}

TEST_CASE("Trainer: nothing is saved of weights with a loss of NaN") {
  // A word that only the validation has.
  const heed::TemporaryFolder folder;
  Dataset data;
  data.train.add("one", "eins");
  data.valid.add("two", "eins");
  const TrainingSettings s = small_settings(folder / "model");
  const auto model = small_model(0, "none");
  const int64_t two = model->vocabulary->encode("two").front();
  set_weights(*model, "src_embedding.weight", [two](int64_t row) {
    return row == two ? NAN : 0.1;
  });
  save_description(s.model, *model);
  CHECK_THROWS(Trainer(s, *model, data).run());
  CHECK(!std::filesystem::exists(s.model + "/" + kWeightsFile));
  CHECK(heed::load_checkpoint(s.model + "/" + kCheckpointFile).step == 0);
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
