#include "examples/translate/bleu.h"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

using namespace translate;
using doctest::Approx;

TEST_CASE("bleu: matches, totals and brevity as counted by hand") {
  // n-grams: 5 of 6, 3 of 5, 2 of 4, 1 of 3: (1/12)^(1/4)
  const BleuScore same_length =
      bleu({"the cat sat on the mat"}, {"the cat sat on a mat"});
  CHECK(same_length.score == Approx(53.7285).epsilon(1e-6));
  CHECK(same_length.matches == std::array<int64_t, 4>{5, 3, 2, 1});
  CHECK(same_length.totals == std::array<int64_t, 4>{6, 5, 4, 3});
  CHECK(same_length.brevity_penalty == 1);

  const BleuScore shorter =
      bleu({"the cat sat on mat"}, {"the cat sat on the mat"});
  CHECK(shorter.score == Approx(57.8930).epsilon(1e-6));
  CHECK(shorter.brevity_penalty == Approx(0.818731).epsilon(1e-6));
}

TEST_CASE("bleu: an n-gram counts as often as the reference has it") {
  const BleuScore score = bleu({"the the the the"}, {"the cat"});
  CHECK(score.matches[0] == 1);
  CHECK(score.totals[0] == 4);
  CHECK(score.precisions[0] == 25);
}

TEST_CASE("bleu: lengths without a match are smoothed by powers of two") {
  // 100 * (3/4 * 1/3 * 1/(2*2) * 1/(4*1))^(1/4)
  CHECK(
      bleu({"a b c d"}, {"a b x d"}).score ==
      Approx(100 * std::pow(3.0 / 4 / 3 / 4 / 4, 0.25)).epsilon(1e-9));
}

TEST_CASE("bleu: counts are summed over the text, not scores averaged") {
  const std::vector<std::string> hypotheses = {"a b c d e", "x y z w"};
  const std::vector<std::string> references = {"a b c d e", "x q z r"};
  // 7 of 9, 4 of 7, 3 of 5, 2 of 3
  CHECK(
      bleu(hypotheses, references).score ==
      Approx(100 * std::pow(7.0 / 9 * 4 / 7 * 3 / 5 * 2 / 3, 0.25)));
}

TEST_CASE("bleu: no match, no text and short text give 0, never NaN") {
  CHECK(bleu({"yes"}, {"no"}).score == 0);
  CHECK(bleu({""}, {"a b c d"}).score == 0);
  CHECK(bleu({"a"}, {""}).score == 0);
  CHECK(bleu({""}, {""}).score == 0);
  CHECK(bleu({}, {}).score == 0);
  // No 4-grams: 0 even where all is right, as sacreBLEU has it.
  CHECK(bleu({"A B C"}, {"A B C"}).score == 0);
}

TEST_CASE("bleu: a perfect translation has 100, not more") {
  CHECK(
      bleu({"one two three four five"}, {"one two three four five"}).score ==
      100);
}

TEST_CASE("bleu: case counts unless told otherwise") {
  const std::vector<std::string> hypothesis = {"Das IST ein Gr\u00dcner Ball"};
  const std::vector<std::string> reference = {"das ist ein gr\u00fcner ball"};
  CHECK(bleu(hypothesis, reference).score < 20);
  CHECK(bleu(hypothesis, reference, {.lowercase = true}).score == 100);
  CHECK(bleu_signature() == "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp");
  CHECK(
      bleu_signature({.lowercase = true}) ==
      "nrefs:1|case:lc|eff:no|tok:13a|smooth:exp");
}

TEST_CASE("bleu: as many hypotheses as references") {
  CHECK_THROWS_WITH_AS(
      bleu({"a"}, {}),
      "bleu: there must be as many hypotheses as references, got 1 and 0",
      std::invalid_argument);
}

TEST_CASE("tokenize_13a: marks stand alone, numbers and words stay whole") {
  CHECK(tokenize_13a("Hello, world!") == "Hello , world !");
  CHECK(tokenize_13a("It's 3.14, not 3,5.") == "It's 3.14 , not 3,5 .");
  CHECK(
      tokenize_13a("well-known 5-year 1990-91") ==
      "well-known 5 - year 1990 - 91");
  CHECK(
      tokenize_13a("(a/b) [c] {d} \"e\" $f%") ==
      "( a / b ) [ c ] { d } \" e \" $ f %");
  CHECK(tokenize_13a("&quot;a &amp; b&quot; &lt;c&gt;") == "\" a & b \" < c >");
  CHECK(tokenize_13a("end...") == "end . . .");
  CHECK(tokenize_13a(".5 and 5.") == ". 5 and 5 .");
  CHECK(tokenize_13a("  spaces \t here ") == "spaces here");
  CHECK(
      tokenize_13a("Stra\u00dfe, \u201cM\u00fcller\u201d.") ==
      "Stra\u00dfe , \u201cM\u00fcller\u201d .");
  CHECK(tokenize_13a("<skipped>x") == "x");
}

TEST_CASE("bleu: prints as sacreBLEU does") {
  CHECK(
      bleu({"the cat sat on mat"}, {"the cat sat on the mat"}).to_string() ==
      "BLEU = 57.89 100.0/75.0/66.7/50.0 (BP = 0.819 ratio = 0.833 hyp_len = 5 "
      "ref_len = 6)");
}
