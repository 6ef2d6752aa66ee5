#include "examples/translate/training_options.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tests/temporary_folder.h"

using namespace translate;

namespace {

ParseResult parse_words(
    std::vector<std::string> words, TrainingSettings& settings) {
  words.insert(words.begin(), "train");
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  return parse_training(static_cast<int>(argv.size()), argv.data(), settings);
}

}  // namespace

TEST_CASE("parse_training: the preset is where the other options start") {
  TrainingSettings s;
  CHECK(parse_words({}, s).go_on);
  CHECK(s.preset == "toy");
  CHECK(s.goal == 0.99);
  CHECK(parse_words({"--d-model", "32", "--preset", "multi30k"}, s).go_on);
  CHECK(s.architecture.d_model == 32);
  CHECK(s.architecture.num_encoder_layers == 4);
  CHECK(s.lr == 3e-3);
  CHECK(parse_words({"--src", "a", "--tgt", "b"}, s).go_on);
  CHECK(s.preset == "small");
  CHECK(s.goal == 0);
}

TEST_CASE(
    "parse_training: what write_config wrote, --config and --resume read") {
  const heed::TemporaryFolder folder;
  TrainingSettings s;
  const std::string model = folder / "model";
  CHECK(parse_words(
            {"--preset",
             "tiny",
             "--norm-first",
             "--lr",
             "0.0123",
             "--task",
             "dates",
             "--model",
             model,
             "--tie",
             "output"},
            s)
            .go_on);
  std::filesystem::create_directories(model);
  write_config(s);
  for (const auto& words :
       {std::vector<std::string>{"--config", model + "/settings.toml"},
        std::vector<std::string>{"--resume", "--model", model}}) {
    TrainingSettings again;
    CHECK(parse_words(words, again).go_on);
    CHECK(again.preset == "tiny");
    CHECK(again.architecture.norm_first);
    CHECK(again.architecture.tie == "output");
    CHECK(again.lr == 0.0123);
    CHECK(again.task == "dates");
    CHECK(again.model == model);
  }
  TrainingSettings changed;
  CHECK(parse_words({"--resume", "--model", model, "--steps", "7"}, changed)
            .go_on);
  CHECK(changed.steps == 7);
  CHECK(changed.resume);
  CHECK(changed.lr == 0.0123);
}

TEST_CASE("parse_training: wrong options end with status 2") {
  TrainingSettings s;
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"--colour", "red"},
           {"--lr", "fast"},
           {"--dropout", "1.5"},
           {"--preset", "huge"},
           {"--steps", "0"},
           {"--config", "nowhere.toml"},
           {"left", "over"}}) {
    const ParseResult result = parse_words(words, s);
    CHECK(!result.go_on);
    CHECK(result.status == 2);
  }
  CHECK_THROWS_AS(
      parse_words({"--resume", "--model", "nowhere"}, s), std::runtime_error);
}

TEST_CASE("parse_training: an option that a file made up is wrong too") {
  const heed::TemporaryFolder folder;
  const std::string path = folder / "settings.toml";
  std::ofstream(path) << "colour=\"red\"\n";
  TrainingSettings s;
  CHECK(parse_words({"--config", path}, s).status == 2);
}

TEST_CASE("check: settings that contradict each other are refused") {
  TrainingSettings s = preset_settings("toy");
  CHECK_NOTHROW(check(s));
  s.src = "a";
  CHECK_THROWS_AS(check(s), std::invalid_argument);
  s.tgt = "b";
  s.valid_src = "c";
  CHECK_THROWS_AS(check(s), std::invalid_argument);
  s.valid_tgt = "d";
  CHECK_NOTHROW(check(s));
  s.architecture.num_heads = 7;
  CHECK_THROWS_AS(check(s), std::invalid_argument);
  CHECK_THROWS_AS(preset_settings("huge"), std::invalid_argument);
}

TEST_CASE("write_config: every bit and every path comes back") {
  const heed::TemporaryFolder folder;
  const std::string model = folder / "C# 1, it's";
  std::filesystem::create_directories(model);
  TrainingSettings s = preset_settings("tiny");
  s.model = model;
  s.src = "a#b";
  s.tgt = "#";
  s.valid_src = "say \"#, x\"";
  s.valid_tgt = "a = b; c";
  s.lr = 1.0 / 3;
  s.beta2 = 0.1 + 0.2;
  s.eps = 1e-9 / 3;
  s.minutes = 100.0 / 3;
  s.architecture.dropout = 1.0 / 7;
  write_config(s);
  const TrainingSettings again = read_config(model);
  CHECK(again.model == s.model);
  CHECK(again.src == s.src);
  CHECK(again.tgt == s.tgt);
  CHECK(again.valid_src == s.valid_src);
  CHECK(again.valid_tgt == s.valid_tgt);
  CHECK(again.lr == s.lr);
  CHECK(again.beta2 == s.beta2);
  CHECK(again.eps == s.eps);
  CHECK(again.minutes == s.minutes);
  CHECK(again.architecture.dropout == s.architecture.dropout);
}

TEST_CASE("parse_training: a file may end its lines with comments") {
  const heed::TemporaryFolder folder;
  const std::string path = folder / "settings.toml";
  std::ofstream(path) << "# mine\nlr=0.25 # high\ntask=\"dates\"# too\n";
  TrainingSettings s;
  CHECK(parse_words({"--config", path}, s).go_on);
  CHECK(s.lr == 0.25);
  CHECK(s.task == "dates");
}

TEST_CASE("check: a path that settings.toml cannot hold is refused") {
  for (const char* path : {"a\nb", "\"it's\""}) {
    TrainingSettings s = preset_settings("toy");
    s.model = path;
    CHECK_THROWS_AS(check(s), std::invalid_argument);
  }
}
