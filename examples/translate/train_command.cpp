#include <heed/tensor/error.h>
#include <heed/tensor/generator.h>
#include <heed/tensor/parallel.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "examples/output_file.h"
#include "examples/translate/command_line.h"
#include "examples/translate/commands.h"
#include "examples/translate/corpus.h"
#include "examples/translate/dates.h"
#include "examples/translate/folder_lock.h"
#include "examples/translate/model_folder.h"
#include "examples/translate/number_words.h"
#include "examples/translate/piece_vocabulary.h"
#include "examples/translate/replaced_model.h"
#include "examples/translate/reverse_task.h"
#include "examples/translate/subword_vocabulary.h"
#include "examples/translate/trainer.h"
#include "examples/translate/training_options.h"
#include "examples/translate/translator.h"

namespace translate {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Dataset dataset_of(const TrainingSettings& s) {
  if (s.is_toy()) {
    return s.task == "numbers" ? number_words(s.seed)
           : s.task == "dates" ? dates(s.seed)
                               : reverse_task(s.seed);
  }
  ParallelText train = without_blanks(read_parallel(s.src, s.tgt));
  if (train.size() == 0) {
    heed::fail<std::runtime_error>(s.src, "must hold a line that is not blank");
  }
  if (s.valid_src.empty()) {
    return with_held_out(std::move(train));
  }
  ParallelText valid = without_blanks(read_parallel(s.valid_src, s.valid_tgt));
  if (valid.size() == 0) {
    heed::fail<std::runtime_error>(
        s.valid_src, "must hold a line that is not blank");
  }
  return {.train = std::move(train), .valid = std::move(valid), .test = {}};
}

std::unique_ptr<Vocabulary> vocabulary_of(
    const TrainingSettings& s, const Dataset& data) {
  std::vector<std::string> lines = data.train.src;
  lines.insert(lines.end(), data.train.tgt.begin(), data.train.tgt.end());
  if (s.is_toy() && s.task == "numbers") {
    return std::make_unique<PieceVocabulary>(number_pieces());
  }
  if (s.is_toy() && s.task == "dates") {
    return std::make_unique<PieceVocabulary>(
        PieceVocabulary::of_characters(lines));
  }
  if (!s.is_toy() && s.vocabulary == "subwords" && has_subwords()) {
    return train_subwords(lines, s.vocab_size);
  }
  return std::make_unique<PieceVocabulary>(
      PieceVocabulary::of_words(lines, s.vocab_size));
}

std::string task_of(const TrainingSettings& s) {
  return s.is_toy() ? s.task : "text";
}

void check_free(const std::string& folder) {
  const size_t files = model_files(folder).size();
  if (files > 0) {
    heed::fail<std::runtime_error>(
        folder,
        "must not hold a model already, got ",
        files,
        " files of one; --resume goes on with it, --overwrite starts anew");
  }
}

// What made the model cannot be changed while it learns.
void check_same_model(
    const TrainingSettings& s, const TranslationModel& model) {
  const TrainingSettings before = read_config(s.model);
  const auto described = [](const Architecture& architecture,
                            const std::string& task,
                            const TrainingSettings& settings) {
    Json all = to_json(architecture);
    all["task"] = task;
    all["vocabulary"] = settings.vocabulary;
    all["vocab_size"] = settings.vocab_size;
    all["preset"] = settings.preset;
    return all;
  };
  const Json asked = described(s.architecture, task_of(s), s);
  const Json is = described(model.architecture, model.task, before);
  for (const auto& [name, value] : is.items()) {
    if (asked.at(name) != value) {
      heed::fail(
          "translate train --resume",
          name,
          " must be that of the model, ",
          value.dump(),
          ", got ",
          asked.at(name).dump());
    }
  }
}

// The old model goes when the new one has its first checkpoint.
void start_folder(
    const TrainingSettings& s,
    const TranslationModel& model,
    Trainer& trainer) {
  ReplacedModel old(s.model);
  save_description(s.model, model);
  write_config(s);
  trainer.start();
  old.forget();
}

void show_examples(TranslationModel& model, const ParallelText& text) {
  const size_t count = std::min<size_t>(5, text.size());
  const std::vector<std::string> src(
      text.src.begin(), text.src.begin() + static_cast<int64_t>(count));
  const std::vector<std::string> lines = translate_greedily(model, src);
  for (size_t i = 0; i < count; ++i) {
    const bool right = lines[i] == text.tgt[i];
    std::printf(
        "%s%s\n  -> %s\n",
        model.task == "text" ? ""
        : right              ? "ok     "
                             : "WRONG  ",
        src[i].c_str(),
        lines[i].c_str());
  }
}

// As a shell reads it.
std::string quoted(const std::string& word) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::strchr("_./-+,:@%", c) != nullptr;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) {
    return word;
  }
  std::string text = "'";
  for (const char c : word) {
    text += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return text + "'";
}

std::string resume_hint(const TrainingSettings& s) {
  return "translate train --resume --model " + quoted(s.model);
}

int train(const TrainingSettings& s) {
  check(s);
  if (s.threads > 0) {
    heed::set_num_threads(s.threads);
  }
  if (!s.json.empty()) {
    examples::check_output(s.json, {s.src, s.tgt, s.valid_src, s.valid_tgt});
  }
  if (fs::exists(s.model) && !fs::is_directory(s.model)) {
    heed::fail<std::runtime_error>(s.model, "must be a folder");
  }
  if (!s.resume && !s.overwrite) {
    check_free(s.model);
  }
  const Dataset data = dataset_of(s);
  heed::manual_seed(s.seed);
  std::unique_ptr<TranslationModel> model;
  if (s.resume) {
    model = load_description(s.model);
    check_same_model(s, *model);
  } else {
    model = std::make_unique<TranslationModel>(
        s.architecture, vocabulary_of(s, data), task_of(s));
  }
  Trainer trainer(s, *model, data);
  fs::create_directories(s.model);
  const FolderLock lock(s.model);
  if (s.resume) {
    trainer.resume();
    write_config(s);
  } else {
    start_folder(s, *model, trainer);
  }
  const size_t left_out = data.train.size() - trainer.num_pairs();
  std::printf(
      "Training on %zu pairs%s, preset %s: %lld parameters, vocabulary of "
      "%lld, "
      "%d threads; model in %s\n",
      trainer.num_pairs(),
      left_out == 0 ? ""
                    : (" (" + std::to_string(left_out) +
                       " longer than --max-tokens left out)")
                          .c_str(),
      s.preset.c_str(),
      static_cast<long long>(model->transformer.num_parameters()),
      static_cast<long long>(model->vocabulary->size()),
      heed::num_threads(),
      s.model.c_str());
  const TrainingResult result = trainer.run();
  if (result.stopped_by != 0) {
    std::printf(
        "Stopped after %lld updates and saved. To go on:\n  %s\n",
        static_cast<long long>(result.steps),
        resume_hint(s).c_str());
    return 128 + result.stopped_by;
  }
  const bool tested = data.test.size() > 0;
  const ParallelText& test = tested ? data.test : data.valid;
  const Score final_score =
      tested
          ? score(
                *model, test, encode(*model->vocabulary, test), s.batch_tokens)
          : result.valid;
  show_examples(*model, test);
  const bool learned = final_score.exact_match >= s.goal;
  std::printf(
      "%s: loss %.4f, BLEU %.2f, %.1f %% exactly right of %zu lines it never "
      "learnt from, after %lld updates and %.1f s\n",
      s.goal == 0 ? "Trained"
      : learned   ? "Learned"
                  : "NOT learned",
      final_score.loss,
      final_score.bleu,
      100 * final_score.exact_match,
      test.size(),
      static_cast<long long>(result.steps),
      result.seconds);
  if (!s.json.empty()) {
    const Json json = {
        {"task", model->task},
        {"seed", s.seed},
        {"steps", result.steps},
        {"eval_loss", final_score.loss},
        {"exact_match", final_score.exact_match},
        {"bleu", final_score.bleu},
        {"train_tokens_per_s", result.tokens_per_second},
        {"seconds", result.seconds}};
    examples::write_file(s.json, json.dump() + "\n");
  }
  return learned ? 0 : 1;
}

}  // namespace

int train_command(int argc, char** argv) {
  TrainingSettings settings;
  const ParseResult parsed = parse_training(argc, argv, settings);
  return parsed.go_on ? train(settings) : parsed.status;
}

}  // namespace translate
