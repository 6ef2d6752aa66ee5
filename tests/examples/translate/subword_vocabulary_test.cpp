#include "examples/translate/subword_vocabulary.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "examples/translate/number_words.h"

using namespace translate;

TEST_CASE("subwords: what was trained on is cut up and put together again") {
  if (!has_subwords()) {
    CHECK_THROWS_AS(train_subwords({"a"}, 10), std::runtime_error);
    return;
  }
  std::vector<std::string> lines;
  for (int64_t n = 0; n < 3'000; n += 7) {
    lines.push_back(english_number(n));
    lines.push_back(german_number(n));
  }
  const auto vocabulary = train_subwords(lines, 200);
  CHECK(vocabulary->size() <= 200);
  CHECK(vocabulary->size() > 100);
  for (const std::string& line : lines) {
    const Ids ids = vocabulary->encode(line);
    CHECK(vocabulary->decode(ids) == line);
    CHECK(*std::min_element(ids.begin(), ids.end()) >= kSpecialIds);
  }
  CHECK(vocabulary->encode("\u4f60") != vocabulary->encode("seven"));
  const auto again =
      load_vocabulary(vocabulary->kind(), vocabulary->to_bytes());
  CHECK(again->encode(lines[5]) == vocabulary->encode(lines[5]));
}

TEST_CASE("subwords: a vocabulary larger than the text has is cut short") {
  if (has_subwords()) {
    const auto vocabulary = train_subwords({"one two", "eins zwei"}, 5'000);
    CHECK(vocabulary->size() < 100);
    CHECK(vocabulary->decode(vocabulary->encode("two one")) == "two one");
  }
}
