#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "examples/translate/vocabulary.h"

namespace translate {

/// A list of pieces. A sentence is cut at its spaces, every word gets
/// kWordStart in front, and from left to right the longest piece that fits is
/// taken. A word that cannot be cut into pieces is unknown as a whole.
class PieceVocabulary : public Vocabulary {
 public:
  /// Pieces get ids in this order, after the special ones. Throws
  /// std::invalid_argument for a piece that is empty, holds a space or a line
  /// break, or comes twice.
  explicit PieceVocabulary(const std::vector<std::string>& pieces);

  /// The words and marks of `lines` that come at least `min_count` times, the
  /// commonest first, at most `max_size` with the special ids.
  static PieceVocabulary of_words(
      const std::vector<std::string>& lines,
      int64_t max_size,
      int64_t min_count = 1);
  /// The characters of `lines`.
  static PieceVocabulary of_characters(const std::vector<std::string>& lines);
  /// What to_bytes() wrote. Throws std::runtime_error for anything else.
  static PieceVocabulary load(const std::string& bytes);

  std::string kind() const override { return "pieces"; }
  int64_t size() const override { return static_cast<int64_t>(pieces_.size()); }
  Ids encode(const std::string& line) const override;
  std::string decode(const Ids& ids) const override;
  std::string piece(int64_t id) const override;
  std::string to_bytes() const override;

 private:
  std::vector<std::string> pieces_;  // of each id
  std::unordered_map<std::string, int64_t> ids_;
  size_t longest_ = 0;  // bytes of a piece
};

}  // namespace translate
