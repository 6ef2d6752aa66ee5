#include "examples/translate/translation_model.h"

#include <utility>

namespace translate {

TranslationModel::TranslationModel(
    const Architecture& of, std::unique_ptr<Vocabulary> words, std::string what)
    : architecture(of),
      task(std::move(what)),
      vocabulary(std::move(words)),
      transformer(
          vocabulary->size(),
          vocabulary->size(),
          architecture.transformer_options()) {}

}  // namespace translate
