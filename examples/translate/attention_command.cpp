#include <heed/tensor/error.h>

#include <algorithm>
#include <cstdio>
#include <optional>
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
#include "examples/translate/translator_options.h"
#include "examples/translate/utf8.h"

namespace translate {
namespace {

struct AttentionSettings {
  std::string model = "translate_model";
  std::string text, translation, out;
  bool terminal = false;
  std::string kind = "cross";
  std::optional<int64_t> layer, head;  // from 1; all
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
        if (s.layer.value_or(layer + 1) == static_cast<int64_t>(layer) + 1 &&
            s.head.value_or(head + 1) == head + 1) {
          std::printf(
              "\n%s",
              examples::to_terminal(head_map(kind, layer, head)).c_str());
        }
      }
    }
  }
}

void check_range(
    const char* option, const std::optional<int64_t>& value, int64_t last) {
  if (value && (*value < 1 || *value > last)) {
    heed::fail(
        "translate attention",
        option,
        " must be in [1, ",
        last,
        "], got ",
        *value);
  }
}

void check_utf8(const char* option, const std::string& text) {
  if (!is_utf8(text)) {
    heed::fail("translate attention", option, " must be UTF-8");
  }
}

int64_t num_layers(const Architecture& architecture, const std::string& kind) {
  return kind == "encoder" ? architecture.num_encoder_layers
         : kind == "all"   ? std::max(
                               architecture.num_encoder_layers,
                               architecture.num_decoder_layers)
                         : architecture.num_decoder_layers;
}

Ids translation_ids(TranslationModel& model, const AttentionSettings& s) {
  if (s.translation.empty()) {
    return translate_lines(model, {s.text}, s.options).front().best.front().ids;
  }
  const Ids ids = model.vocabulary->encode(s.translation);
  if (ids.size() >= kMaxSourceTokens) {
    heed::fail(
        "translate attention",
        "--translation must have less than ",
        kMaxSourceTokens,
        " tokens, got ",
        ids.size());
  }
  return ids;
}

int draw(const AttentionSettings& s) {
  if (s.terminal == !s.out.empty()) {
    heed::fail(
        "translate attention",
        "either --out FILE or --terminal must be given, got ",
        s.terminal ? "both" : "none");
  }
  if (!s.out.empty()) {
    examples::check_output(s.out, model_files(s.model));
  }
  check_utf8("--text", s.text);
  check_utf8("--translation", s.translation);
  const std::unique_ptr<TranslationModel> model = load_model(s.model);
  check_range("--layer", s.layer, num_layers(model->architecture, s.kind));
  check_range("--head", s.head, model->architecture.num_heads);
  const Attention attention =
      attention_of(*model, s.text, translation_ids(*model, s));
  if (attention.cut) {
    warn_of_cut("translate attention: --text");
  }
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
  CLI::Option* terminal = app.add_flag("--terminal", s.terminal, "Draw here");
  app.add_option("--kind", s.kind, "In the terminal")
      ->check(CLI::IsMember({"cross", "encoder", "decoder", "all"}))
      ->needs(terminal)
      ->capture_default_str();
  app.add_option("--layer", s.layer, "In the terminal, from 1; default: all")
      ->needs(terminal);
  app.add_option("--head", s.head, "In the terminal, from 1; default: all")
      ->needs(terminal);
  add_translator_options(app, s.options);
  app.remove_option(app.get_option("--batch"));  // one text is one batch
  const ParseResult parsed = parse(app, argc, argv);
  return parsed.go_on ? draw(s) : parsed.status;
}

}  // namespace translate
