#include "examples/translate/dates.h"

#include <heed/tensor/error.h>
#include <heed/tensor/generator.h>
#include <heed/tensor/random.h>

#include <array>
#include <cstdio>

namespace translate {
namespace {

constexpr size_t kTrainingPairs = 60'000;
constexpr size_t kValidPairs = 300;
constexpr size_t kTestPairs = 1'000;

constexpr std::array kMonths = {
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December"};
constexpr std::array kWeekdays = {
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday"};
constexpr std::array kOrdinals = {
    "first",        "second",        "third",          "fourth",
    "fifth",        "sixth",         "seventh",        "eighth",
    "ninth",        "tenth",         "eleventh",       "twelfth",
    "thirteenth",   "fourteenth",    "fifteenth",      "sixteenth",
    "seventeenth",  "eighteenth",    "nineteenth",     "twentieth",
    "twenty-first", "twenty-second", "twenty-third",   "twenty-fourth",
    "twenty-fifth", "twenty-sixth",  "twenty-seventh", "twenty-eighth",
    "twenty-ninth", "thirtieth",     "thirty-first"};

// What stands between $: weekday, month, day and year in their spellings.
constexpr std::array kSpellings = {
    "$d $M $Y",            // 9 March 1987
    "$M $d, $Y",           // March 9, 1987
    "$W, $M $d, $Y",       // Monday, March 9, 1987
    "$W, $d $M $Y",        // Monday, 9 March 1987
    "$w, $d $m $Y",        // Mon, 9 Mar 1987
    "$d $m $y",            // 9 Mar 87
    "$m $d '$y",           // Mar 9 '87
    "$o of $M $Y",         // 9th of March 1987
    "$M $o, $Y",           // March 9th, 1987
    "$w $o $m $Y",         // Mon 9th Mar 1987
    "the $O of $M, $Y",    // the ninth of March, 1987
    "$W the $O of $M $Y",  // Monday the ninth of March 1987
    "$d.$n.$Y",            // 9.3.1987
    "$D.$N.$y",            // 09.03.87
    "$Y/$N/$D",            // 1987/03/09
    "$D-$m-$Y",            // 09-Mar-1987
    "$Y $m $d"};           // 1987 Mar 9

const char* suffix_of(int day) {
  if (day >= 11 && day <= 13) {
    return "th";
  }
  return day % 10 == 1   ? "st"
         : day % 10 == 2 ? "nd"
         : day % 10 == 3 ? "rd"
                         : "th";
}

std::string two_digits(int n) {
  char text[16];
  std::snprintf(text, sizeof text, "%02d", n);
  return text;
}

int length_of_month(int year, int month) {
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  constexpr std::array kLengths = {
      31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return kLengths[static_cast<size_t>(month - 1)] +
         (month == 2 && leap ? 1 : 0);
}

std::string part(char name, const Date& date, int weekday) {
  const std::string month = kMonths[static_cast<size_t>(date.month - 1)];
  const std::string day_name = kWeekdays[static_cast<size_t>(weekday)];
  switch (name) {
    case 'd':
      return std::to_string(date.day);
    case 'D':
      return two_digits(date.day);
    case 'o':
      return std::to_string(date.day) + suffix_of(date.day);
    case 'O':
      return kOrdinals[static_cast<size_t>(date.day - 1)];
    case 'n':
      return std::to_string(date.month);
    case 'N':
      return two_digits(date.month);
    case 'm':
      return month.substr(0, 3);
    case 'M':
      return month;
    case 'y':
      return two_digits(date.year % 100);
    case 'Y':
      return std::to_string(date.year);
    case 'w':
      return day_name.substr(0, 3);
    default:
      return day_name;
  }
}

void check_days(int64_t days) {
  if (days < 0 || days >= kDays) {
    heed::fail("dates", "days must be in [0, ", kDays, "), got ", days);
  }
}

int64_t below(int64_t n, heed::Generator& generator) {
  return static_cast<int64_t>(
      heed::uniform_index(generator.reserve(2), 0, static_cast<uint64_t>(n)));
}

}  // namespace

Date date_of(int64_t days) {
  check_days(days);
  Date date{1950, 1, 1};
  while (days >= length_of_month(date.year, date.month)) {
    days -= length_of_month(date.year, date.month);
    date.year += date.month / 12;
    date.month = date.month % 12 + 1;
  }
  date.day += static_cast<int>(days);
  return date;
}

int weekday_of(int64_t days) {
  check_days(days);
  return static_cast<int>((days + 6) % 7);  // 1 January 1950 was a Sunday
}

std::string iso_8601(const Date& date) {
  return std::to_string(date.year) + "-" + two_digits(date.month) + "-" +
         two_digits(date.day);
}

int64_t num_spellings() { return static_cast<int64_t>(kSpellings.size()); }

std::string spelled(int64_t days, int64_t spelling) {
  if (spelling < 0 || spelling >= num_spellings()) {
    heed::fail(
        "spelled",
        "spelling must be in [0, ",
        num_spellings(),
        "), got ",
        spelling);
  }
  const Date date = date_of(days);
  std::string text;
  for (const char* c = kSpellings[static_cast<size_t>(spelling)]; *c != 0;
       ++c) {
    text += *c == '$' ? part(*++c, date, weekday_of(days)) : std::string(1, *c);
  }
  return text;
}

Dataset dates(uint64_t seed) {
  heed::Generator generator(seed);
  Dataset data;
  const auto add = [&](ParallelText& text, int64_t days) {
    text.add(
        spelled(days, below(num_spellings(), generator)),
        iso_8601(date_of(days)));
  };
  const std::vector<int64_t> days =
      heed::randperm(kDays, generator).to_vector<int64_t>();
  for (size_t i = 0; i < kTestPairs + kValidPairs; ++i) {
    add(i < kTestPairs ? data.test : data.valid, days[i]);
  }
  const auto held_out = static_cast<int64_t>(kTestPairs + kValidPairs);
  for (size_t i = 0; i < kTrainingPairs; ++i) {
    const int64_t pick = held_out + below(kDays - held_out, generator);
    add(data.train, days[static_cast<size_t>(pick)]);
  }
  return data;
}

}  // namespace translate
