#include "examples/translate/translation_model.h"

#include <utility>

namespace translate {

TranslationModel::TranslationModel(
    const Architecture& architecture,
    std::unique_ptr<Vocabulary> vocabulary,
    std::string task)
    : architecture(architecture),
      task(std::move(task)),
      vocabulary(std::move(vocabulary)),
      transformer(
          this->vocabulary->size(),
          this->vocabulary->size(),
          architecture.transformer_options()) {}

}  // namespace translate
