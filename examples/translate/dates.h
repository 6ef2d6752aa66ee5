#pragma once

#include <cstdint>
#include <string>

#include "examples/translate/parallel_text.h"

namespace translate {

/// A day of the Gregorian calendar.
struct Date {
  int year, month, day;
};

inline constexpr int64_t kDays = 36'525;  ///< 1950-01-01 ... 2049-12-31

/// The day that is `days` after 1 January 1950. Throws std::invalid_argument
/// unless 0 <= days < kDays, as weekday_of and spelled.
Date date_of(int64_t days);
/// 0 = Monday ... 6 = Sunday.
int weekday_of(int64_t days);
/// "1987-03-09"
std::string iso_8601(const Date& date);

/// How many ways there are to write a date.
int64_t num_spellings();
/// One of them: "Monday, 9 March 1987", "9.3.87", "the ninth of March, 1987".
/// Throws std::invalid_argument, too, unless 0 <= spelling < num_spellings().
std::string spelled(int64_t days, int64_t spelling);

/// Dates of 1950 to 2049 as people write them and in ISO 8601. No training pair
/// has a day of `valid` or `test`.
Dataset dates(uint64_t seed);

}  // namespace translate
