#include "examples/translate/number_words.h"

#include <heed/tensor/error.h>
#include <heed/tensor/generator.h>
#include <heed/tensor/random.h>

#include <algorithm>
#include <array>

#include "examples/translate/piece_vocabulary.h"

namespace translate {
namespace {

constexpr int64_t kTrainingPairs = 60'000;
constexpr size_t kValidPairs = 300;
constexpr size_t kTestPairs = 1'000;

constexpr std::array kEnglishSmall = {
    "zero",    "one",     "two",       "three",    "four",
    "five",    "six",     "seven",     "eight",    "nine",
    "ten",     "eleven",  "twelve",    "thirteen", "fourteen",
    "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::array kEnglishTens = {
    "twenty",
    "thirty",
    "forty",
    "fifty",
    "sixty",
    "seventy",
    "eighty",
    "ninety"};
// Before another word: 21 is einundzwanzig, 1 alone eins.
constexpr std::array kGermanSmall = {
    "null",     "ein",      "zwei",     "drei",     "vier",
    "fünf",     "sechs",    "sieben",   "acht",     "neun",
    "zehn",     "elf",      "zwölf",    "dreizehn", "vierzehn",
    "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"};
constexpr std::array kGermanTens = {
    "zwanzig",
    "dreißig",
    "vierzig",
    "fünfzig",
    "sechzig",
    "siebzig",
    "achtzig",
    "neunzig"};

const char* small(const auto& words, int64_t n) {
  return words[static_cast<size_t>(n)];
}
const char* tens(const auto& words, int64_t n) {
  return words[static_cast<size_t>(n / 10 - 2)];
}

void check_number(int64_t n) {
  if (n < 0 || n >= kNumbers) {
    heed::fail("number", "n must be in [0, ", kNumbers, "), got ", n);
  }
}

// 1 <= n < 100
std::string english_below_100(int64_t n) {
  if (n < 20) {
    return small(kEnglishSmall, n);
  }
  const std::string ten = tens(kEnglishTens, n);
  return n % 10 == 0 ? ten : ten + "-" + small(kEnglishSmall, n % 10);
}

// 1 <= n < 1000
std::string english_below_1000(int64_t n) {
  if (n < 100) {
    return english_below_100(n);
  }
  const std::string hundreds =
      small(kEnglishSmall, n / 100) + std::string(" hundred");
  return n % 100 == 0 ? hundreds
                      : hundreds + " and " + english_below_100(n % 100);
}

// 1 <= n < 1000, as the beginning of a longer word.
std::string german_below_1000(int64_t n) {
  std::string word;
  if (n >= 100) {
    word += small(kGermanSmall, n / 100) + std::string("hundert");
    n %= 100;
  }
  if (n >= 20) {
    if (n % 10 != 0) {
      word += small(kGermanSmall, n % 10) + std::string("und");
    }
    word += tens(kGermanTens, n);
  } else if (n > 0) {
    word += small(kGermanSmall, n);
  }
  return word;
}

// An integer that looks random (the finaliser of SplitMix64).
uint64_t scattered(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// The smallest number of so many digits.
int64_t first_of_length(int64_t digits) {
  int64_t first = 1;
  for (int64_t i = 1; i < digits; ++i) {
    first *= 10;
  }
  return digits == 1 ? 0 : first;
}

void add_number(ParallelText& text, int64_t n) {
  text.add(english_number(n), german_number(n));
}

// All held-out numbers, shuffled, then dealt out so that each length comes as
// often as any other while it has some left.
std::vector<int64_t> held_out_numbers(heed::Generator& generator) {
  std::array<std::vector<int64_t>, 7> by_length;
  const std::vector<int64_t> order =
      heed::randperm(kNumbers, generator).to_vector<int64_t>();
  for (int64_t n : order) {
    if (is_held_out(n)) {
      by_length[std::to_string(n).size()].push_back(n);
    }
  }
  std::vector<int64_t> dealt;
  for (size_t round = 0; round < by_length.back().size(); ++round) {
    for (const auto& numbers : by_length) {
      if (round < numbers.size()) {
        dealt.push_back(numbers[round]);
      }
    }
  }
  return dealt;
}

}  // namespace

std::string english_number(int64_t n) {
  check_number(n);
  if (n == 0) {
    return kEnglishSmall[0];
  }
  std::string words;
  if (n >= 1000) {
    words = english_below_1000(n / 1000) + " thousand";
    n %= 1000;
    if (n > 0) {
      words += n < 100 ? " and " : " ";
    }
  }
  return n > 0 ? words + english_below_1000(n) : words;
}

std::string german_number(int64_t n) {
  check_number(n);
  if (n == 0) {
    return kGermanSmall[0];
  }
  std::string word;
  if (n >= 1000) {
    word = german_below_1000(n / 1000) + "tausend";
  }
  word += german_below_1000(n % 1000);
  // Only at the very end is one "eins".
  return n % 100 == 1 ? word + "s" : word;
}

bool is_held_out(int64_t n) {
  return n >= 100 && scattered(static_cast<uint64_t>(n)) % 50 == 0;
}

Dataset number_words(uint64_t seed) {
  heed::Generator generator(seed);
  Dataset data;
  const std::vector<int64_t> held_out = held_out_numbers(generator);
  for (size_t i = 0; i < kTestPairs; ++i) {
    add_number(data.test, held_out[i]);
  }
  for (size_t i = kTestPairs; i < kTestPairs + kValidPairs; ++i) {
    add_number(data.valid, held_out[i]);
  }
  int64_t digits = 0;
  while (data.train.size() < kTrainingPairs) {
    digits = digits % 6 + 1;
    const int64_t first = first_of_length(digits);
    const auto range =
        static_cast<uint64_t>(first_of_length(digits + 1) - first);
    const int64_t n = first + static_cast<int64_t>(heed::uniform_index(
                                  generator.reserve(2), 0, range));
    if (!is_held_out(n)) {
      add_number(data.train, n);
    }
  }
  return data;
}

std::vector<std::string> number_pieces() {
  std::vector<std::string> pieces;
  const std::string space = kWordStart;
  for (const char* word : kEnglishSmall) {
    pieces.push_back(space + word);
  }
  for (size_t ones = 1; ones < 10; ++ones) {
    pieces.push_back(std::string("-") + kEnglishSmall[ones]);
  }
  for (const char* word : kEnglishTens) {
    pieces.push_back(space + word);
  }
  for (const char* word : {"hundred", "thousand", "and"}) {
    pieces.push_back(space + word);
  }
  const auto add_german = [&](const std::string& word) {
    pieces.push_back(space + word);
    pieces.push_back(word);
  };
  for (const char* word : kGermanSmall) {
    add_german(word);
  }
  for (const char* word : kGermanTens) {
    add_german(word);
  }
  for (const char* word : {"eins", "und", "hundert", "tausend"}) {
    add_german(word);
  }
  return pieces;
}

}  // namespace translate
