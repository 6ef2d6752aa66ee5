#include <heed/tensor/error.h>
#include <heed/tensor/parallel.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "examples/translate/command_line.h"
#include "examples/translate/commands.h"
#include "examples/translate/model_folder.h"
#include "examples/translate/translator.h"
#include "examples/translate/utf8.h"

namespace translate {
namespace {

struct RunSettings {
  std::string model = "translate_model";
  TranslatorOptions options;
  bool score = false;
  int threads = 0;
};

// Lines are translated this many batches at a time: sorted by length among
// each other, and written out before the next are read.
constexpr int64_t kBatchesRead = 16;

std::string checked(std::string line, int64_t number) {
  if (line.ends_with('\r')) {
    line.pop_back();
  }
  if (!is_utf8(line)) {
    heed::fail<std::runtime_error>(
        "translate run", "the input must be UTF-8, line ", number, " is not");
  }
  return line;
}

void print(const std::vector<Translation>& translations, const RunSettings& s) {
  for (const Translation& translation : translations) {
    if (s.score) {
      std::printf("%.4f\t", translation.score);
    }
    std::printf("%s\n", translation.text.c_str());
  }
}

void warn_if_long(
    const TranslationModel& model, const std::string& line, int64_t number) {
  // No piece is shorter than a byte.
  if (line.size() >= kMaxSourceTokens &&
      model.vocabulary->encode(line).size() >= kMaxSourceTokens) {
    std::fprintf(
        stderr,
        "translate run: line %lld is translated up to its %zuth token\n",
        static_cast<long long>(number),
        kMaxSourceTokens - 1);
  }
}

void run_lines(TranslationModel& model, const RunSettings& s) {
  const auto count = static_cast<size_t>(s.options.batch * kBatchesRead);
  int64_t number = 0;
  bool more = true;
  while (more) {
    std::vector<std::string> lines;
    std::string line;
    while (lines.size() < count && (more = !!std::getline(std::cin, line))) {
      lines.push_back(checked(line, ++number));
      warn_if_long(model, lines.back(), number);
    }
    for (const auto& translations : translate_lines(model, lines, s.options)) {
      print(translations, s);
    }
    if (std::fflush(stdout) != 0) {
      heed::fail<std::runtime_error>(
          "translate run", "the output cannot be written");
    }
  }
}

void run_prompt(TranslationModel& model, const RunSettings& s) {
  std::printf("One line a translation; Ctrl-D ends.\n");
  std::string line;
  while (std::printf("> "), std::fflush(stdout), std::getline(std::cin, line)) {
    if (!is_utf8(line)) {
      std::printf("That is not UTF-8.\n");
      continue;
    }
    print(translate_lines(model, {line}, s.options).front(), s);
  }
  std::printf("\n");
}

}  // namespace

int run_command(int argc, char** argv) {
  RunSettings s;
  CLI::App app(
      "Translates each line of the standard input; blank lines stay blank. At "
      "a terminal it asks for lines. With --n-best N every line gives up to N "
      "lines, the best first.",
      "translate run");
  app.add_option("--model", s.model, "The model's folder")
      ->capture_default_str();
  app.add_option("--beam", s.options.beam, "Hypotheses at a time; 1: greedy")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option(
         "--alpha",
         s.options.alpha,
         "Of the length penalty ((5 + L) / 6)^alpha")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  app.add_option("--n-best", s.options.n_best, "Translations a line")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option(
         "--max-length", s.options.max_length, "Tokens of a translation")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--batch", s.options.batch, "Lines translated together")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_flag(
      "--score",
      s.score,
      "Write log-probability / length penalty and a tab in front");
  app.add_option("--threads", s.threads, "Default: one a core")
      ->check(CLI::Range(1, 1024));
  const ParseResult parsed = parse(app, argc, argv);
  if (!parsed.go_on) {
    return parsed.status;
  }
  if (s.threads > 0) {
    heed::set_num_threads(s.threads);
  }
  if (s.options.n_best > s.options.beam) {
    heed::fail(
        "translate run",
        "--n-best must be at most --beam, got ",
        s.options.n_best,
        " and ",
        s.options.beam);
  }
  const std::unique_ptr<TranslationModel> model = load_model(s.model);
  if (isatty(STDIN_FILENO) == 1) {
    run_prompt(*model, s);
  } else {
    run_lines(*model, s);
  }
  return 0;
}

}  // namespace translate
