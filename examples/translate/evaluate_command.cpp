#include <heed/tensor/error.h>
#include <heed/tensor/parallel.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "examples/output_file.h"
#include "examples/translate/bleu.h"
#include "examples/translate/chrf.h"
#include "examples/translate/command_line.h"
#include "examples/translate/commands.h"
#include "examples/translate/corpus.h"
#include "examples/translate/model_folder.h"
#include "examples/translate/translator.h"

namespace translate {
namespace {

struct EvaluateSettings {
  std::string model = "translate_model";
  std::string src, ref, hyp, out, json;
  bool lowercase = false;
  TranslatorOptions options;
  int threads = 0;
};

std::vector<std::string> hypotheses_of(const EvaluateSettings& s) {
  if (!s.hyp.empty()) {
    return read_lines(s.hyp);
  }
  const std::vector<std::string> src = read_parallel(s.src, s.ref).src;
  const std::unique_ptr<TranslationModel> model = load_model(s.model);
  std::vector<std::string> hypotheses;
  for (const auto& translations : translate_lines(*model, src, s.options)) {
    hypotheses.push_back(translations.front().text);
  }
  return hypotheses;
}

int evaluate(const EvaluateSettings& s) {
  if (s.hyp.empty() == s.src.empty()) {
    heed::fail(
        "translate evaluate",
        "either --src must be given, to be translated, or --hyp");
  }
  if (s.threads > 0) {
    heed::set_num_threads(s.threads);
  }
  for (const std::string& file : {s.out, s.json}) {
    if (!file.empty()) {
      examples::check_writable(file);
    }
  }
  const std::vector<std::string> references = read_lines(s.ref);
  const std::vector<std::string> hypotheses = hypotheses_of(s);
  if (references.empty()) {
    heed::fail<std::runtime_error>(
        s.ref, "must hold at least one line, got none");
  }
  if (hypotheses.size() != references.size()) {
    heed::fail<std::runtime_error>(
        s.hyp,
        "must have as many lines as ",
        s.ref,
        ", got ",
        hypotheses.size(),
        " and ",
        references.size());
  }
  const BleuOptions bleu_options{.lowercase = s.lowercase};
  const ChrfOptions chrf_options{.lowercase = s.lowercase};
  const BleuScore score = bleu(hypotheses, references, bleu_options);
  const double chrf = chrf2(hypotheses, references, chrf_options);
  std::printf(
      "%s\n  %s\nchrF2 = %.2f\n  %s\n",
      score.to_string().c_str(),
      bleu_signature(bleu_options).c_str(),
      chrf,
      chrf2_signature(chrf_options).c_str());
  if (!s.out.empty()) {
    std::string text;
    for (const std::string& line : hypotheses) {
      text += line + "\n";
    }
    examples::write_file(s.out, text);
  }
  if (!s.json.empty()) {
    const nlohmann::ordered_json json = {
        {"lines", references.size()},
        {"bleu", score.score},
        {"bleu_signature", bleu_signature(bleu_options)},
        {"chrf2", chrf},
        {"chrf2_signature", chrf2_signature(chrf_options)}};
    examples::write_file(s.json, json.dump() + "\n");
  }
  return 0;
}

}  // namespace

int evaluate_command(int argc, char** argv) {
  EvaluateSettings s;
  CLI::App app(
      "Scores translations against references: BLEU and chrF2 as sacreBLEU "
      "computes them by default. The translations are the model's, or those in "
      "a file.",
      "translate evaluate");
  app.add_option("--model", s.model, "The model's folder")
      ->capture_default_str();
  app.add_option("--src", s.src, "Sentences to translate, plain or .gz");
  app.add_option("--ref", s.ref, "Their translations by people, line by line")
      ->required();
  app.add_option("--hyp", s.hyp, "Score this file's lines; no model is used");
  app.add_flag("--lowercase", s.lowercase, "Ignore case");
  app.add_option("--beam", s.options.beam, "Hypotheses at a time; 1: greedy")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--alpha", s.options.alpha, "Of the length penalty")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  app.add_option(
         "--max-length", s.options.max_length, "Tokens of a translation")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--batch", s.options.batch, "Lines translated together")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--out", s.out, "Write the translations to this file");
  app.add_option("--json", s.json, "Write the scores to this file");
  app.add_option("--threads", s.threads, "Default: one a core")
      ->check(CLI::Range(1, 1024));
  const ParseResult parsed = parse(app, argc, argv);
  return parsed.go_on ? evaluate(s) : parsed.status;
}

}  // namespace translate
