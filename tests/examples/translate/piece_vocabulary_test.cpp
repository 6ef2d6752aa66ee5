#include "examples/translate/piece_vocabulary.h"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace translate;

namespace {

const std::string kStart = kWordStart;

PieceVocabulary small() {
  return PieceVocabulary({kStart + "a", kStart + "ab", "b", "c", kStart + "d"});
}

}  // namespace

TEST_CASE("PieceVocabulary: the longest piece that fits is taken") {
  const PieceVocabulary vocabulary = small();
  CHECK(vocabulary.size() == 9);
  CHECK(vocabulary.encode("abc") == Ids{5, 7});
  CHECK(vocabulary.encode("abb d") == Ids{5, 6, 8});
  CHECK(vocabulary.decode({5, 6, 8}) == "abb d");
  CHECK(vocabulary.piece(5) == kStart + "ab");
}

TEST_CASE("PieceVocabulary: a word that cannot be cut is unknown as a whole") {
  const PieceVocabulary vocabulary = small();
  CHECK(vocabulary.encode("abx d") == Ids{kUnkId, 8});
  CHECK(vocabulary.encode("d \xff") == Ids{8, kUnkId});
  CHECK(vocabulary.decode({kUnkId, 8}) == "<unk> d");
}

TEST_CASE("PieceVocabulary: blank lines have no ids, special ids no text") {
  CHECK(small().encode(" \t ").empty());
  CHECK(small().decode({kBosId, 8, kEosId, kPadId}) == "d");
}

TEST_CASE("PieceVocabulary: words and marks are counted apart") {
  const std::vector<std::string> lines = {"Go, go (now)!", "go on, now."};
  const auto vocabulary = PieceVocabulary::of_words(lines, 100);
  for (const std::string& line : lines) {
    CHECK(vocabulary.decode(vocabulary.encode(line)) == line);
  }
  CHECK(vocabulary.piece(kSpecialIds) == ",");
  CHECK(PieceVocabulary::of_words(lines, 6).size() == 6);
  CHECK(PieceVocabulary::of_words(lines, 100, 2).size() == 4 + 2);
}

TEST_CASE("PieceVocabulary: characters make up any line of them") {
  const auto vocabulary = PieceVocabulary::of_characters({"ab c\u00fc"});
  CHECK(vocabulary.decode(vocabulary.encode("\u00fcba cc")) == "\u00fcba cc");
}

TEST_CASE("PieceVocabulary: what it writes it reads again") {
  const PieceVocabulary vocabulary = small();
  const auto again = load_vocabulary(vocabulary.kind(), vocabulary.to_bytes());
  CHECK(again->size() == vocabulary.size());
  CHECK(again->encode("abc d") == vocabulary.encode("abc d"));
}

TEST_CASE("PieceVocabulary: damaged bytes are refused") {
  const std::string bytes = small().to_bytes();
  CHECK_THROWS_AS(load_vocabulary("pieces", ""), std::runtime_error);
  CHECK_THROWS_AS(load_vocabulary("pieces", "x" + bytes), std::runtime_error);
  CHECK_THROWS_AS(load_vocabulary("pieces", bytes + "c\n"), std::runtime_error);
  CHECK_THROWS_AS(load_vocabulary("pieces", bytes + "\n"), std::runtime_error);
  CHECK_THROWS_AS(
      load_vocabulary("pieces", bytes + "\xff\n"), std::runtime_error);
  CHECK_THROWS_AS(load_vocabulary("sentencepiece", "junk"), std::runtime_error);
  CHECK_THROWS_AS(load_vocabulary("other", bytes), std::runtime_error);
}
