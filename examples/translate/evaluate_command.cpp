#include <heed/tensor/error.h>

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
#include "examples/translate/translator_options.h"

namespace translate {
namespace {

struct EvaluateSettings {
  std::string model = "translate_model";
  std::string src, ref, hyp, out, json;
  bool lowercase = false;
  TranslatorOptions options;
};

// Translations, and the references that they are the source side of.
ParallelText to_compare(const EvaluateSettings& s) {
  if (!s.hyp.empty()) {
    return read_parallel(s.hyp, s.ref);
  }
  ParallelText text = read_parallel(s.src, s.ref);
  const std::unique_ptr<TranslationModel> model = load_model(s.model);
  const auto translated = translate_lines(*model, text.src, s.options);
  for (size_t i = 0; i < text.size(); ++i) {
    if (translated[i].cut) {
      warn_of_cut(
          "translate evaluate: " + s.src + ", line " + std::to_string(i + 1));
    }
    text.src[i] = translated[i].best.front().text;
  }
  return text;
}

int evaluate(const EvaluateSettings& s) {
  if (s.hyp.empty() == s.src.empty()) {
    heed::fail(
        "translate evaluate",
        "either --src must be given, to be translated, or --hyp");
  }
  std::vector<std::string> read = model_files(s.model);
  read.insert(read.end(), {s.src, s.ref, s.hyp});
  for (const std::string& file : {s.out, s.json}) {
    if (!file.empty()) {
      examples::check_output(file, read);
    }
  }
  const auto [hypotheses, references] = to_compare(s);
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
  add_translator_options(app, s.options);
  app.add_option("--out", s.out, "Write the translations to this file");
  app.add_option("--json", s.json, "Write the scores to this file");
  const ParseResult parsed = parse(app, argc, argv);
  return parsed.go_on ? evaluate(s) : parsed.status;
}

}  // namespace translate
