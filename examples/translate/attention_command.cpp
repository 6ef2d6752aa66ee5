#include <heed/tensor/error.h>

#include <cstdio>
#include <string>
#include <vector>

#include "examples/heat_map.h"
#include "examples/output_file.h"
#include "examples/translate/attention_page.h"
#include "examples/translate/attention_weights.h"
#include "examples/translate/command_line.h"
#include "examples/translate/commands.h"
#include "examples/translate/model_folder.h"
#include "examples/translate/translator.h"
#include "examples/translate/utf8.h"

namespace translate {
namespace {

struct AttentionSettings {
  std::string model = "translate_model";
  std::string text, translation, out;
  bool terminal = false;
  std::string kind = "cross";
  int64_t layer = 0;  // 0: all
  int64_t head = 0;   // 0: all
  TranslatorOptions options;
};

void print_maps(const Attention& attention, const AttentionSettings& s) {
  std::printf(
      "%s\n-> %s\n", attention.source.c_str(), attention.translation.c_str());
  for (const AttentionKind& kind : attention.kinds) {
    if (s.kind != "all" && s.kind != kind.name) {
      continue;
    }
    for (size_t layer = 0; layer < kind.layers.size(); ++layer) {
      const int64_t heads = kind.layers[layer].size(0);
      for (int64_t head = 0; head < heads; ++head) {
        const bool wanted =
            (s.layer == 0 || s.layer == static_cast<int64_t>(layer) + 1) &&
            (s.head == 0 || s.head == head + 1);
        if (wanted) {
          std::printf(
              "\n%s",
              examples::to_terminal(head_map(kind, layer, head)).c_str());
        }
      }
    }
  }
}

int draw(const AttentionSettings& s) {
  if (s.terminal == !s.out.empty()) {
    heed::fail(
        "translate attention", "either --out FILE or --terminal must be given");
  }
  if (!is_utf8(s.text) || !is_utf8(s.translation)) {
    heed::fail("translate attention", "--text must be UTF-8");
  }
  const std::unique_ptr<TranslationModel> model = load_model(s.model);
  const Ids ids =
      s.translation.empty()
          ? translate_lines(*model, {s.text}, s.options).front().front().ids
          : model->vocabulary->encode(s.translation);
  const Attention attention = attention_of(*model, s.text, ids);
  if (s.terminal) {
    print_maps(attention, s);
  } else {
    examples::write_file(s.out, attention_page(attention));
    std::printf(
        "%s\n-> %s\nAttention drawn in %s\n",
        attention.source.c_str(),
        attention.translation.c_str(),
        s.out.c_str());
  }
  return 0;
}

}  // namespace

int attention_command(int argc, char** argv) {
  AttentionSettings s;
  CLI::App app(
      "Draws what each head of each layer looks at while a text is translated: "
      "a web page of one file, or maps in the terminal.",
      "translate attention");
  app.add_option("--model", s.model, "The model's folder")
      ->capture_default_str();
  app.add_option("--text", s.text, "What is translated")->required();
  app.add_option(
      "--translation", s.translation, "Look at this one, not the model's own");
  app.add_option("--out", s.out, "The page to write, FILE.html");
  app.add_flag("--terminal", s.terminal, "Draw here");
  app.add_option("--kind", s.kind, "In the terminal")
      ->check(CLI::IsMember({"cross", "encoder", "decoder", "all"}))
      ->capture_default_str();
  app.add_option("--layer", s.layer, "In the terminal, from 1; default: all")
      ->check(CLI::Range(1, 1000));
  app.add_option("--head", s.head, "In the terminal, from 1; default: all")
      ->check(CLI::Range(1, 1000));
  app.add_option("--beam", s.options.beam, "Hypotheses at a time; 1: greedy")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  const ParseResult parsed = parse(app, argc, argv);
  return parsed.go_on ? draw(s) : parsed.status;
}

}  // namespace translate
