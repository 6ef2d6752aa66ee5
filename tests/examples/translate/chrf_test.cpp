#include "examples/translate/chrf.h"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace translate;
using doctest::Approx;

TEST_CASE("chrf2: counted by hand") {
  // One letter: 1 of 2; two letters: 0 of 1; no longer ones.
  CHECK(chrf2({"aa"}, {"ab"}) == Approx(25));
  CHECK(chrf2({"a", "b"}, {"a", "c"}) == Approx(50));
  // Precision 1; recall (3/6 + 2/5 + 1/4) / 3, which counts twice as much.
  const double recall = (0.5 + 0.4 + 0.25) / 3;
  CHECK(chrf2({"abc"}, {"abcdef"}) == Approx(500 * recall / (4 + recall)));
}

TEST_CASE("chrf2: a reference too short for an n-gram takes no part in it") {
  // The second line counts for one and two letters alone. Precisions 6/8, 4/6,
  // 2/2, 1/1; recalls 6/6, 4/4, 2/2, 1/1.
  const double precision = (6.0 / 8 + 4.0 / 6 + 1 + 1) / 4;
  CHECK(
      chrf2({"abcd", "abxy"}, {"abcd", "ab"}) ==
      Approx(500 * precision / (4 * precision + 1)));
}

TEST_CASE("chrf2: white space does not count, characters are Unicode's") {
  CHECK(chrf2({"a b c"}, {"abc"}) == Approx(100));
  CHECK(chrf2({"\u00fc"}, {"\u00f6"}) == 0);  // though a byte is the same
  CHECK(chrf2({"\u00dc"}, {"\u00fc"}, {.lowercase = true}) == Approx(100));
}

TEST_CASE("chrf2: nothing at all gives 0, never NaN") {
  CHECK(chrf2({""}, {"reference"}) == 0);
  CHECK(chrf2({"a"}, {""}) == 0);
  CHECK(chrf2({""}, {""}) == 0);
  CHECK(chrf2({}, {}) == 0);
  CHECK(chrf2({"abcdefg"}, {"hijklmnop"}) == 0);
  CHECK_THROWS_AS(chrf2({"a"}, {}), std::invalid_argument);
}

TEST_CASE("chrf2: the signature names what was counted") {
  CHECK(chrf2_signature() == "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no");
}
