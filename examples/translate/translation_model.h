#pragma once

#include <heed/nn/transformer.h>

#include <memory>
#include <string>

#include "examples/translate/architecture.h"
#include "examples/translate/vocabulary.h"

namespace translate {

/// A Transformer and the vocabulary that its ids belong to.
struct TranslationModel {
  /// New weights, from heed's default generator.
  TranslationModel(
      const Architecture& architecture,
      std::unique_ptr<Vocabulary> vocabulary,
      std::string task);

  Architecture architecture;
  std::string task;  ///< numbers, dates, reverse or text
  std::unique_ptr<Vocabulary> vocabulary;
  heed::Transformer transformer;
};

}  // namespace translate
