#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/translate/parallel_text.h"

namespace translate {

inline constexpr int64_t kNumbers = 1'000'000;  ///< 0 ... 999,999

/// 42007 -> "forty-two thousand and seven". Throws std::invalid_argument unless
/// 0 <= n < kNumbers, as german_number.
std::string english_number(int64_t n);
/// 42007 -> "zweiundvierzigtausendsieben"
std::string german_number(int64_t n);

/// Whether no training pair may touch n: one number in fifty, the numbers below
/// 100 apart, which are the words that the others are made of.
bool is_held_out(int64_t n);

/// English number words and their German translations; all lengths of numbers
/// equally often. `valid` and `test` are held-out numbers, all different.
Dataset number_words(uint64_t seed);

/// The parts that number words of both languages are made of: pieces of a
/// PieceVocabulary.
std::vector<std::string> number_pieces();

}  // namespace translate
