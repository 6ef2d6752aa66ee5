#include "examples/translate/translator.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/examples/translate/small_model.h"

using namespace translate;

namespace {

std::vector<std::string> texts_of(
    const std::vector<TranslatedLine>& translated) {
  std::vector<std::string> texts;
  for (const TranslatedLine& line : translated) {
    texts.push_back(line.best.front().text);
  }
  return texts;
}

}  // namespace

TEST_CASE("translate_lines: a line in gives a line out, blank stays blank") {
  const auto model = small_model();
  const std::vector<std::string> lines = {
      "", " ", "\t", "one", "", "two hundred", "\u4f60\u597d"};
  const auto translations =
      texts_of(translate_lines(*model, lines, {.max_length = 20}));
  CHECK(translations.size() == lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i == 3 || i >= 5) {
      CHECK(
          translations[i] ==
          texts_of(translate_lines(*model, {lines[i]}, {.max_length = 20}))[0]);
    } else {
      CHECK(translations[i].empty());
    }
  }
}

TEST_CASE("translate_lines: a line's result does not depend on the others") {
  const auto model = small_model();
  std::vector<std::string> lines;
  for (int64_t n = 3; n < 900'000; n = n * 3 + 1) {
    lines.push_back(english_number(n));
  }
  for (int64_t beam : {1, 4}) {
    const auto at_once = translate_lines(
        *model, lines, {.beam = beam, .max_length = 12, .batch = 100});
    std::vector<std::string> reversed(lines.rbegin(), lines.rend());
    auto by_three = translate_lines(
        *model, reversed, {.beam = beam, .max_length = 12, .batch = 3});
    std::reverse(by_three.begin(), by_three.end());
    for (size_t i = 0; i < lines.size(); ++i) {
      CHECK(at_once[i].best.front().ids == by_three[i].best.front().ids);
      CHECK(
          at_once[i].best.front().score ==
          doctest::Approx(by_three[i].best.front().score).epsilon(1e-4));
    }
  }
}

TEST_CASE("translate_lines: several translations are different and sorted") {
  const auto model = small_model();
  const auto translations = translate_lines(
      *model, {"forty-two"}, {.beam = 6, .n_best = 4, .max_length = 6});
  std::set<std::string> texts;
  double last = 0;
  for (const Translation& translation : translations.front().best) {
    CHECK(texts.insert(translation.text).second);
    CHECK(translation.score <= last);
    last = translation.score;
  }
  CHECK(texts.size() >= 2);
  CHECK(texts.size() <= 4);
}

TEST_CASE("translate_lines: a line of 10,000 tokens is translated in part") {
  const auto model = small_model();
  std::string line;
  for (int i = 0; i < 10'000; ++i) {
    line += "seven ";
  }
  const std::string start = line.substr(0, 6 * (kMaxSourceTokens - 1));
  const TranslatorOptions options{.beam = 2, .max_length = 5};
  const auto translated = translate_lines(*model, {line, start}, options);
  CHECK(translated[0].cut);
  CHECK(!translated[1].cut);
  const std::vector<std::string> texts = texts_of(translated);
  CHECK(texts[0] == texts[1]);
  CHECK(source_of(*model, line).ids == source_of(*model, start).ids);
}
