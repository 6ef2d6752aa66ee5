#include "examples/translate/vocabulary.h"

#include <heed/tensor/error.h>

#include "examples/translate/piece_vocabulary.h"
#include "examples/translate/subword_vocabulary.h"

namespace translate {

std::unique_ptr<Vocabulary> load_vocabulary(
    const std::string& kind, const std::string& bytes) {
  if (kind == "pieces") {
    return std::make_unique<PieceVocabulary>(PieceVocabulary::load(bytes));
  }
  if (kind == "sentencepiece") {
    return load_subwords(bytes);
  }
  heed::fail<std::runtime_error>(
      "load_vocabulary",
      "kind must be pieces or sentencepiece, got \"",
      kind,
      "\"");
}

}  // namespace translate
