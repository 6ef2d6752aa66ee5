#pragma once

#include <memory>
#include <string>
#include <vector>

#include "examples/translate/vocabulary.h"

namespace translate {

/// Whether the program was built with SentencePiece.
bool has_subwords();

/// Trains byte pair encoding (Sennrich et al. 2016, arXiv:1508.07909) with
/// SentencePiece on lines of both languages. There may be fewer pieces than
/// `size` when the lines do not have so many. Throws std::runtime_error when
/// SentencePiece fails or this program was built without it.
std::unique_ptr<Vocabulary> train_subwords(
    const std::vector<std::string>& lines, int64_t size);

/// The vocabulary of a serialised SentencePiece model. Throws
/// std::runtime_error for anything else.
std::unique_ptr<Vocabulary> load_subwords(const std::string& bytes);

}  // namespace translate
