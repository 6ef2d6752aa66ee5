#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace translate {

using Ids = std::vector<int64_t>;

// The same in every vocabulary.
inline constexpr int64_t kPadId = 0;  ///< Fills up short sentences.
inline constexpr int64_t kUnkId = 1;  ///< What the vocabulary does not know.
inline constexpr int64_t kBosId = 2;  ///< Begins a target sentence.
inline constexpr int64_t kEosId = 3;  ///< Ends a sentence.
inline constexpr int64_t kSpecialIds = 4;

/// Begins a piece that begins a word: U+2581, as SentencePiece has it.
inline constexpr const char* kWordStart = "\u2581";

/// Cuts sentences of both languages into pieces and numbers them.
class Vocabulary {
 public:
  virtual ~Vocabulary() = default;

  /// Whichever class can read to_bytes(): "pieces" or "sentencepiece".
  virtual std::string kind() const = 0;
  virtual int64_t size() const = 0;
  /// The ids of a sentence, without kBosId and kEosId. No line is refused.
  virtual Ids encode(const std::string& line) const = 0;
  /// The sentence, special ids left out but kUnkId, which is shown.
  virtual std::string decode(const Ids& ids) const = 0;
  /// How an id is shown to a person.
  virtual std::string piece(int64_t id) const = 0;
  /// What load_vocabulary() makes this vocabulary of again.
  virtual std::string to_bytes() const = 0;
};

/// The vocabulary that wrote `bytes`. Throws std::runtime_error for bytes that
/// none wrote, or a kind that this program was built without.
std::unique_ptr<Vocabulary> load_vocabulary(
    const std::string& kind, const std::string& bytes);

}  // namespace translate
