#include "examples/translate/utf8.h"

#include <doctest/doctest.h>

using namespace translate;
using Strings = std::vector<std::string>;

TEST_CASE("utf8: only well-formed sequences pass") {
  CHECK(is_utf8(""));
  CHECK(is_utf8("a\u00fc\u20ac\U0001f600"));
  CHECK(!is_utf8("\x80"));              // continues nothing
  CHECK(!is_utf8("\xc3"));              // cut off
  CHECK(!is_utf8("\xc3(\x61"));         // not continued
  CHECK(!is_utf8("\xc0\xaf"));          // overlong
  CHECK(!is_utf8("\xe0\x9f\xbf"));      // overlong
  CHECK(!is_utf8("\xed\xa0\x80"));      // a surrogate
  CHECK(!is_utf8("\xf4\x90\x80\x80"));  // beyond U+10FFFF
  CHECK(!is_utf8("\xff"));
}

TEST_CASE("utf8: characters are split, broken bytes alone") {
  CHECK(characters("a\u00fc\u20ac") == Strings{"a", "\u00fc", "\u20ac"});
  CHECK(characters("\xff\u00fc") == Strings{"\xff", "\u00fc"});
}

TEST_CASE("utf8: words stand between any white space") {
  CHECK(words(" two  words\t") == Strings{"two", "words"});
  CHECK(words("a\u00a0b\u3000c\u2028d") == Strings{"a", "b", "c", "d"});
  CHECK(words("").empty());
  CHECK(is_blank(" \t\u2003"));
  CHECK(!is_blank("\u200b"));  // of no width, but no space
}

TEST_CASE("utf8: capital letters of all scripts become small") {
  CHECK(lowercased("ABC xyz 123") == "abc xyz 123");
  CHECK(
      lowercased("\u00c4\u00d6\u00dc \u00df \u1e9e") ==
      "\u00e4\u00f6\u00fc \u00df \u00df");
  CHECK(  // Polish, Romanian, Vietnamese, Turkish
      lowercased(
          "\u0160\u0141\u0178 \u0218\u021a \u01a0\u01af\u1ea4 \u0130I") ==
      "\u0161\u0142\u00ff \u0219\u021b \u01a1\u01b0\u1ea5 i\u0307i");
  CHECK(  // Greek, of old too, and Cyrillic
      lowercased("\u0391\u03a9\u0386\u1f08 \u0416\u0401\u04c0") ==
      "\u03b1\u03c9\u03ac\u1f00 \u0436\u0451\u04cf");
  CHECK(  // Armenian, Georgian, Cherokee, wide Latin, Deseret
      lowercased("\u0531\u1c90\u13a0\uff21\U00010400") ==
      "\u0561\u10d0\uab70\uff41\U00010428");
  CHECK(
      lowercased("\u00d7\u4f60\u0561\uffff\U0010ffff \xff") ==
      "\u00d7\u4f60\u0561\uffff\U0010ffff \xff");
}

TEST_CASE("utf8: lines end with or without a carriage return") {
  CHECK(split_lines("a\nb\r\n\nc") == Strings{"a", "b", "", "c"});
  CHECK(split_lines("a\n") == Strings{"a"});
  CHECK(split_lines("").empty());
  CHECK(split_lines("\n") == Strings{""});
}
