#include "examples/translate/dates.h"

#include <doctest/doctest.h>

#include <set>
#include <stdexcept>

using namespace translate;

namespace {
constexpr int64_t k9March1987 = 13'581;  // days after 1 January 1950
}

TEST_CASE("dates: days are counted by the Gregorian calendar") {
  CHECK(iso_8601(date_of(0)) == "1950-01-01");
  CHECK(weekday_of(0) == 6);
  CHECK(iso_8601(date_of(k9March1987)) == "1987-03-09");
  CHECK(weekday_of(k9March1987) == 0);
  CHECK(iso_8601(date_of(18'321)) == "2000-02-29");
  CHECK(weekday_of(18'321) == 1);
  CHECK(iso_8601(date_of(kDays - 1)) == "2049-12-31");
}

TEST_CASE("dates: days outside 1950 to 2049 are refused") {
  CHECK_THROWS_WITH_AS(
      date_of(-1),
      "dates: days must be in [0, 36525), got -1",
      std::invalid_argument);
  for (int64_t days : {int64_t{-1}, kDays}) {
    CHECK_THROWS_AS(date_of(days), std::invalid_argument);
    CHECK_THROWS_AS(weekday_of(days), std::invalid_argument);
    CHECK_THROWS_AS(spelled(days, 0), std::invalid_argument);
  }
}

TEST_CASE("dates: a day is spelled in many ways") {
  std::set<std::string> spellings;
  for (int64_t i = 0; i < num_spellings(); ++i) {
    spellings.insert(spelled(k9March1987, i));
  }
  CHECK(static_cast<int64_t>(spellings.size()) == num_spellings());
  for (const char* one :
       {"9 March 1987",
        "Monday, March 9, 1987",
        "Mon, 9 Mar 1987",
        "the ninth of March, 1987",
        "9th of March 1987",
        "09.03.87",
        "1987/03/09"}) {
    CHECK(spellings.contains(one));
  }
  CHECK_THROWS_AS(spelled(0, num_spellings()), std::invalid_argument);
}

TEST_CASE("dates: no training pair has a day measured by") {
  const Dataset data = dates(1);
  std::set<std::string> measured(data.test.tgt.begin(), data.test.tgt.end());
  measured.insert(data.valid.tgt.begin(), data.valid.tgt.end());
  CHECK(measured.size() == data.test.size() + data.valid.size());
  for (const std::string& day : data.train.tgt) {
    CHECK(!measured.contains(day));
  }
}
