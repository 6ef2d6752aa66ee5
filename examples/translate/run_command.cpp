#include <heed/tensor/error.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "examples/heat_map.h"
#include "examples/translate/attention_weights.h"
#include "examples/translate/command_line.h"
#include "examples/translate/commands.h"
#include "examples/translate/line_reader.h"
#include "examples/translate/model_folder.h"
#include "examples/translate/translator.h"
#include "examples/translate/translator_options.h"
#include "examples/translate/utf8.h"

namespace translate {
namespace {

struct RunSettings {
  std::string model = "translate_model";
  TranslatorOptions options;
  bool score = false;
  bool align = false;
};

// Lines are translated at most this many batches at a time: sorted by length
// among each other, and written out before the next are read.
constexpr int64_t kBatchesRead = 16;

// All of it, a zero byte included.
void write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

// The line's number counts from 1.
void print(
    TranslationModel& model,
    const std::string& line,
    int64_t number,
    const TranslatedLine& translated,
    const RunSettings& s) {
  if (translated.cut) {
    warn_of_cut("translate run: line " + std::to_string(number));
  }
  for (const Translation& translation : translated.best) {
    const std::string& text = translation.text;
    if (s.options.n_best > 1) {  // Moses' format, counted from 0
      std::printf("%lld |||", static_cast<long long>(number - 1));
      if (is_blank(line)) {
        std::printf(" ||| 0\n");
      } else {
        std::printf(" ");
        write(text);
        std::printf(" ||| %.4f\n", translation.score);
      }
    } else {
      if (s.score) {
        std::printf("%.4f\t", translation.score);
      }
      write(text + "\n");
    }
    if (s.align && !is_blank(line)) {
      const Attention attention = attention_of(model, line, translation.ids);
      std::printf(
          "%s\n", examples::to_terminal(alignment_map(attention)).c_str());
    }
  }
}

void run_lines(TranslationModel& model, const RunSettings& s) {
  const auto count = static_cast<size_t>(s.options.batch * kBatchesRead);
  LineReader reader(STDIN_FILENO);
  int64_t number = 0;
  while (true) {
    const std::vector<std::string> lines = reader.next(count);
    if (lines.empty()) {
      return;
    }
    for (size_t i = 0; i < lines.size(); ++i) {
      if (!is_utf8(lines[i])) {
        heed::fail<std::runtime_error>(
            "translate run",
            "the input must be UTF-8, line ",
            number + static_cast<int64_t>(i) + 1,
            " is not");
      }
    }
    const auto translated = translate_lines(model, lines, s.options);
    for (size_t i = 0; i < lines.size(); ++i) {
      print(model, lines[i], ++number, translated[i], s);
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
  int64_t number = 0;
  while (std::printf("> "), std::fflush(stdout), std::getline(std::cin, line)) {
    ++number;
    if (!is_utf8(line)) {
      std::printf("That is not UTF-8.\n");
      continue;
    }
    const auto translated = translate_lines(model, {line}, s.options);
    print(model, line, number, translated.front(), s);
  }
  std::printf("\n");
}

}  // namespace

int run_command(int argc, char** argv) {
  RunSettings s;
  CLI::App app(
      "Translates each line of the standard input; blank lines stay blank. At "
      "a terminal it asks for lines. With --n-best N > 1 every line gives up "
      "to "
      "N lines, the best first, as \"INDEX ||| translation ||| score\", the "
      "first INDEX being 0.",
      "translate run");
  app.add_option("--model", s.model, "The model's folder")
      ->capture_default_str();
  add_translator_options(app, s.options);
  app.add_option("--n-best", s.options.n_best, "Translations a line")
      ->check(in_range(1, 1000))
      ->capture_default_str();
  app.add_flag(
      "--score",
      s.score,
      "Write log-probability / length penalty and a tab in front");
  app.add_flag(
      "--align",
      s.align,
      "Draw which source pieces each piece came from: the mean of all "
      "cross-attention");
  const ParseResult parsed = parse(app, argc, argv);
  if (!parsed.go_on) {
    return parsed.status;
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
