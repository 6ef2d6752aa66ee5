#include "examples/translate/training_options.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "examples/output_file.h"
#include "examples/translate/model_folder.h"

namespace translate {
namespace {

namespace fs = std::filesystem;

/// The shortest text that is read back as the same number.
std::string exact(double value) {
  char text[32];
  const std::to_chars_result end =
      std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}

/// TOML as CLI11 has it, but a # within quotes begins no comment.
class Toml : public CLI::ConfigTOML {
 public:
  Toml() { comment('\n'); }  // which is in no line

  std::vector<CLI::ConfigItem> from_config(std::istream& in) const override {
    std::stringstream without_comments;
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("\xef\xbb\xbf")) {  // a byte order mark
        line.erase(0, 3);
      }
      char quote = 0;
      size_t end = 0;
      for (; end < line.size() && (quote != 0 || line[end] != '#'); ++end) {
        const char c = line[end];
        if (quote == 0 && (c == '"' || c == '\'')) {
          quote = c;
        } else if (c == quote) {
          quote = 0;
        }
      }
      without_comments << line.substr(0, end) << '\n';
    }
    return CLI::ConfigTOML::from_config(without_comments);
  }
};

/// Adds options of one heading of the help text.
class Group {
 public:
  Group(CLI::App& app, std::string name) : app_(app), name_(std::move(name)) {}

  template <typename T>
  CLI::Option* add(const char* flag, T& value, const char* help) {
    CLI::Option* option =
        app_.add_option(flag, value, help)->group(name_)->capture_default_str();
    if constexpr (std::is_same_v<T, double>) {
      option->default_str(exact(value));
    }
    return option;
  }
  template <typename T>
  void add(
      const char* flag,
      T& value,
      const char* help,
      const CLI::Validator& range) {
    add(flag, value, help)->check(range);
  }
  void add(
      const char* flag,
      std::string& value,
      const char* help,
      const std::vector<std::string>& choices) {
    add(flag, value, help)->check(CLI::IsMember(choices));
  }
  CLI::Option* add_flag(const char* flag, bool& value, const char* help) {
    return app_.add_flag(flag, value, help)->group(name_);
  }

 private:
  CLI::App& app_;
  std::string name_;
};

CLI::Validator at_least(int64_t low) {
  return in_range(static_cast<double>(low), 1e12);
}

/// The file is read more than once, and gone where there is none.
CLI::Validator is_regular_file() {
  return CLI::Validator(
      [](const std::string& path) {
        return fs::is_regular_file(path) ? std::string()
                                         : path + " must be a regular file";
      },
      "");
}

void add_options(CLI::App& app, TrainingSettings& s) {
  Group start(app, "Start");
  std::vector<std::string> presets;
  std::string about = "Starting values of all the others:";
  for (const auto& [name, whom] : preset_list()) {
    presets.push_back(name);
    about += "\n  " + name + ": " + whom;
  }
  start.add("--preset", s.preset, about.c_str(), presets);
  app.set_config("--config", "", "Read options from a file like settings.toml")
      ->check(is_regular_file())
      ->group("Start");
  app.config_formatter(std::make_shared<Toml>());
  app.allow_config_extras(CLI::config_extras_mode::error);
  start.add_flag("--resume", s.resume, "Go on with the training of --model")
      ->configurable(false);
  start.add_flag("--overwrite", s.overwrite, "Start anew where a model is")
      ->configurable(false);
  start.add("--model", s.model, "Folder of the model");
  start.add("--seed", s.seed, "Of all random numbers", at_least(0));
  start.add("--threads", s.threads, "0: one a core", in_range(0, 1024));
  start.add("--json", s.json, "Write the result to this file")
      ->configurable(false);

  Group text(app, "Text");
  text.add(
      "--task",
      s.task,
      "What to learn where no --src is given",
      {"numbers", "dates", "reverse"});
  text.add("--src", s.src, "Sentences to learn from, plain or .gz");
  text.add("--tgt", s.tgt, "Their translations, line by line");
  text.add("--valid-src", s.valid_src, "To measure by; else some of --src are");
  text.add("--valid-tgt", s.valid_tgt, "Their translations");
  text.add(
      "--vocabulary",
      s.vocabulary,
      "Subwords need SentencePiece",
      {"subwords", "words"});
  text.add(
      "--vocab-size", s.vocab_size, "Pieces of both languages", at_least(8));
  text.add(
      "--max-tokens",
      s.max_tokens,
      "Longer training sentences are left out",
      at_least(1));

  Group model(app, "Transformer");
  Architecture& a = s.architecture;
  model.add("--encoder-layers", a.num_encoder_layers, "", at_least(0));
  model.add("--decoder-layers", a.num_decoder_layers, "", at_least(1));
  model.add("--d-model", a.d_model, "Width", at_least(1));
  model.add("--heads", a.num_heads, "Of each attention", at_least(1));
  model.add("--d-ff", a.d_ff, "Width of feed-forward networks", at_least(1));
  model.add("--dropout", a.dropout, "Share dropped", in_range(0, 0.99));
  model.add(
      "--attention-dropout",
      a.attention_dropout,
      "Of attention weights",
      in_range(0, 0.99));
  model.add("--activation", a.activation, "", {"relu", "gelu"});
  model.add(
      "--tie",
      a.tie,
      "Share matrices: both embeddings and output, or target and output",
      {"all", "output", "none"});
  model
      .add_flag(
          "--norm-first,!--norm-last",
          a.norm_first,
          "Normalise before each sub-layer or, as the paper, after")
      ->default_str(a.norm_first ? "true" : "false");  // for write_config

  Group training(app, "Training");
  training.add("--steps", s.steps, "Updates at most", at_least(1));
  training.add("--minutes", s.minutes, "At most; 0: any", in_range(0, 1e6));
  training.add(
      "--batch-tokens",
      s.batch_tokens,
      "Of a batch, with padding, on its longer side",
      at_least(1));
  training.add("--accumulate", s.accumulate, "Batches an update", at_least(1));
  training.add(
      "--lr", s.lr, "Highest rate; with noam, a factor", in_range(0, 1e3));
  training.add(
      "--schedule",
      s.schedule,
      "Of the rate",
      {"noam", "inverse-sqrt", "cosine", "constant"});
  training.add(
      "--warmup-steps", s.warmup_steps, "Until the highest rate", at_least(0));
  training.add("--label-smoothing", s.label_smoothing, "", in_range(0, 0.99));
  training.add("--beta1", s.beta1, "Of Adam", in_range(0, 0.999999));
  training.add("--beta2", s.beta2, "Of Adam", in_range(0, 0.999999));
  training.add("--eps", s.eps, "Of Adam", in_range(0, 1));
  training.add("--weight-decay", s.weight_decay, "Of Adam", in_range(0, 1));
  training.add(
      "--max-norm", s.max_norm, "Clip gradients; 0: not", in_range(0, 1e9));

  Group measuring(app, "Measuring");
  measuring.add(
      "--eval-every",
      s.eval_every,
      "Updates; 0: every epoch, of 100 updates at least",
      at_least(0));
  measuring.add(
      "--patience",
      s.patience,
      "Evaluations, after the warm-up, without a better one until the end; 0: "
      "any",
      at_least(0));
  measuring.add("--keep", s.keep, "Weights kept and averaged", at_least(1));
  measuring.add("--average", s.average, "Which are kept", {"best", "last"});
  measuring.add(
      "--goal",
      s.goal,
      "Share of lines exactly right, else the exit status is 1",
      in_range(0, 1));
}

/// What a reading of the command line is for.
enum class Reading {
  start,  ///< To find out from where options start: asks no more than that.
  all
};

ParseResult parse_into(
    TrainingSettings& settings,
    const std::vector<std::string>& arguments,
    Reading reading = Reading::all) {
  CLI::App app(
      "Trains a Transformer to translate: number words, or a text of your own.",
      "translate train");
  app.footer(
      "Exit status: 0 done, 1 --goal not reached, 2 bad options or files, 128 "
      "and the signal's number when stopped.");
  add_options(app, settings);
  if (reading == Reading::start) {
    app.set_help_flag();
    app.allow_extras();
  }
  std::vector<const char*> argv = {"translate train"};
  for (const std::string& argument : arguments) {
    argv.push_back(argument.c_str());
  }
  return parse(
      app, static_cast<int>(argv.size()), const_cast<char**>(argv.data()));
}

bool has_config(const std::vector<std::string>& arguments) {
  return std::any_of(
      arguments.begin(), arguments.end(), [](const std::string& argument) {
        return argument == "--config" || argument.starts_with("--config=");
      });
}

std::string config_of(const std::string& folder) {
  const std::string config = (fs::path(folder) / kSettingsFile).string();
  if (!fs::exists(config)) {
    heed::fail<std::runtime_error>(
        folder, "must be a model's folder to go on with");
  }
  return config;
}

}  // namespace

ParseResult parse_training(int argc, char** argv, TrainingSettings& settings) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  // The first reading finds out from where to start, the second reads.
  TrainingSettings first;
  ParseResult parsed = parse_into(first, arguments, Reading::start);
  if (parsed.go_on && first.resume) {
    if (has_config(arguments)) {
      heed::fail(
          "translate train",
          "--resume must come without --config: it reads the model's ",
          kSettingsFile);
    }
    arguments.insert(arguments.begin(), {"--config", config_of(first.model)});
    first = TrainingSettings();
    parsed = parse_into(first, arguments, Reading::start);
  }
  if (!parsed.go_on) {
    return parsed;
  }
  if (first.preset.empty()) {
    first.preset = first.is_toy() ? "toy" : "small";
  }
  settings = preset_settings(first.preset);
  if (first.is_toy()) {
    adapt_to_task(settings, first.task);
  }
  return parse_into(settings, arguments);
}

TrainingSettings read_config(const std::string& folder) {
  TrainingSettings settings;
  const std::string config = config_of(folder);
  if (!parse_into(settings, {"--config", config}).go_on) {
    heed::fail(config, "must hold options of translate train");
  }
  return settings;
}

void write_config(const TrainingSettings& settings) {
  TrainingSettings copy = settings;
  CLI::App app("", "translate train");
  add_options(app, copy);
  examples::write_file(
      (fs::path(settings.model) / kSettingsFile).string(),
      "# What this model was trained with; `translate train --config FILE` "
      "reads it.\n" +
          app.config_to_str(/*default_also=*/true));
}

}  // namespace translate
