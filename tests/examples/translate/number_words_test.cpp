#include "examples/translate/number_words.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "examples/translate/piece_vocabulary.h"

using namespace translate;

TEST_CASE("number_words: English and German spell a number") {
  CHECK(english_number(0) == "zero");
  CHECK(german_number(0) == "null");
  CHECK(english_number(42'007) == "forty-two thousand and seven");
  CHECK(german_number(42'007) == "zweiundvierzigtausendsieben");
  CHECK(english_number(100) == "one hundred");
  CHECK(german_number(100) == "einhundert");
  CHECK(english_number(1'316) == "one thousand three hundred and sixteen");
  CHECK(german_number(1'316) == "eintausenddreihundertsechzehn");
  CHECK(
      english_number(999'999) ==
      "nine hundred and ninety-nine thousand nine hundred and ninety-nine");
  CHECK(
      german_number(999'999) ==
      "neunhundertneunundneunzigtausendneunhundertneunundneunzig");
}

TEST_CASE("number_words: one is eins at the end of a word and ein before") {
  CHECK(german_number(1) == "eins");
  CHECK(german_number(21) == "einundzwanzig");
  CHECK(german_number(101) == "einhunderteins");
  CHECK(german_number(1'000) == "eintausend");
  CHECK(german_number(101'001) == "einhunderteintausendeins");
  CHECK(german_number(11) == "elf");
  CHECK(german_number(211'011) == "zweihundertelftausendelf");
}

TEST_CASE("number_words: numbers out of range are refused") {
  CHECK_THROWS_WITH_AS(
      english_number(-1),
      "number: n must be in [0, 1000000), got -1",
      std::invalid_argument);
  CHECK_THROWS_AS(german_number(kNumbers), std::invalid_argument);
}

TEST_CASE("number_words: the pieces make up every number of both languages") {
  const PieceVocabulary vocabulary(number_pieces());
  for (int64_t n = 0; n < kNumbers; n += n < 1'100 ? 1 : 997) {
    for (const std::string& words : {english_number(n), german_number(n)}) {
      const Ids ids = vocabulary.encode(words);
      CHECK(std::count(ids.begin(), ids.end(), kUnkId) == 0);
      CHECK(vocabulary.decode(ids) == words);
    }
  }
}

TEST_CASE("number_words: no training pair touches a number measured by") {
  const Dataset data = number_words(3);
  CHECK(data.test.size() == 1'000);
  std::set<std::string> measured(data.test.src.begin(), data.test.src.end());
  measured.insert(data.valid.src.begin(), data.valid.src.end());
  CHECK(measured.size() == data.test.size() + data.valid.size());
  for (const std::string& words : data.train.src) {
    CHECK(!measured.contains(words));
  }
  std::set<std::string> held_out;
  for (int64_t n = 0; n < kNumbers; ++n) {
    if (is_held_out(n)) {
      held_out.insert(german_number(n));
    }
  }
  CHECK(held_out.size() > kNumbers / 60);
  for (const std::string& word : data.train.tgt) {
    CHECK(!held_out.contains(word));
  }
  for (const std::string& word : data.test.tgt) {
    CHECK(held_out.contains(word));
  }
}

TEST_CASE("number_words: a seed gives the same pairs, another one others") {
  CHECK(number_words(1).train.src == number_words(1).train.src);
  CHECK(number_words(1).train.src != number_words(2).train.src);
}
