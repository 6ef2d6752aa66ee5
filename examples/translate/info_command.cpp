#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "examples/translate/command_line.h"
#include "examples/translate/commands.h"
#include "examples/translate/model_folder.h"

namespace translate {

int info_command(int argc, char** argv) {
  std::string folder = "translate_model";
  bool parameters = false;
  CLI::App app("Tells what a model is.", "translate info");
  app.add_option("--model", folder, "The model's folder")
      ->capture_default_str();
  app.add_flag("--parameters", parameters, "List them with their shapes");
  const ParseResult parsed = parse(app, argc, argv);
  if (!parsed.go_on) {
    return parsed.status;
  }
  WeightsInfo info;
  const std::unique_ptr<TranslationModel> model = load_model(folder, &info);
  std::printf("%-18s %s\n", "task", model->task.c_str());
  const nlohmann::ordered_json architecture = to_json(model->architecture);
  for (const auto& [name, value] : architecture.items()) {
    std::printf("%-18s %s\n", name.c_str(), value.dump().c_str());
  }
  std::printf(
      "%-18s %s, %lld pieces\n",
      "vocabulary",
      model->vocabulary->kind().c_str(),
      static_cast<long long>(model->vocabulary->size()));
  std::printf(
      "%-18s %lld\n",
      "parameters",
      static_cast<long long>(model->transformer.num_parameters()));
  std::printf("%-18s %lld\n", "updates", static_cast<long long>(info.step));
  std::printf(
      "%-18s loss %.4f, perplexity %.2f, BLEU %.2f, exactly right %.1f %%\n",
      "validation",
      info.valid.loss,
      info.valid.perplexity(),
      info.valid.bleu,
      100 * info.valid.exact_match);
  if (parameters) {
    std::printf("\n%s", model->transformer.summary().c_str());
  }
  return 0;
}

}  // namespace translate
