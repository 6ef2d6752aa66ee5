#include "examples/translate/utf8.h"

#include <algorithm>
#include <cstdint>

#include "examples/translate/small_letters.h"

namespace translate {
namespace {

/// A character and the bytes it takes; 0 bytes where none is well-formed.
struct Character {
  uint32_t code = 0;
  size_t bytes = 0;
};

// The table of well-formed sequences of the Unicode Standard (3-7).
Character read_character(std::string_view text) {
  const auto byte = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const uint32_t first = byte(0);
  if (first < 0x80) {
    return {first, 1};
  }
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) {
    return {};
  }
  uint32_t code = first & (0x7fU >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) {
      return {};
    }
    code = code << 6 | (byte(i) & 0x3f);
  }
  const uint32_t least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < least || code > 0x10ffff || surrogate) {
    return {};
  }
  return {code, length};
}

std::string to_utf8(uint32_t code) {
  const auto tail = [&](int shift) {
    return static_cast<char>(0x80 | (code >> shift & 0x3f));
  };
  if (code < 0x80) {
    return {static_cast<char>(code)};
  }
  if (code < 0x800) {
    return {static_cast<char>(0xc0 | code >> 6), tail(0)};
  }
  if (code < 0x10000) {
    return {static_cast<char>(0xe0 | code >> 12), tail(6), tail(0)};
  }
  return {static_cast<char>(0xf0 | code >> 18), tail(12), tail(6), tail(0)};
}

// What Python's str.split() splits at.
bool is_space(uint32_t code) {
  return (code >= 0x9 && code <= 0xd) || (code >= 0x1c && code <= 0x20) ||
         code == 0x85 || code == 0xa0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200a) || code == 0x2028 ||
         code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t bytes = read_character(text).bytes;
    if (bytes == 0) {
      return false;
    }
    text.remove_prefix(bytes);
  }
  return true;
}

std::vector<std::string> characters(std::string_view text) {
  std::vector<std::string> all;
  while (!text.empty()) {
    const size_t bytes = std::max<size_t>(read_character(text).bytes, 1);
    all.emplace_back(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return all;
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> all;
  bool in_word = false;
  while (!text.empty()) {
    const Character character = read_character(text);
    const size_t bytes = std::max<size_t>(character.bytes, 1);
    if (character.bytes > 0 && is_space(character.code)) {
      in_word = false;
    } else {
      if (!in_word) {
        all.emplace_back();
      }
      all.back() += text.substr(0, bytes);
      in_word = true;
    }
    text.remove_prefix(bytes);
  }
  return all;
}

bool is_blank(std::string_view text) { return words(text).empty(); }

std::string lowercased(std::string_view text) {
  std::string small;
  while (!text.empty()) {
    const Character character = read_character(text);
    if (character.bytes == 0) {
      small += text[0];
      text.remove_prefix(1);
    } else {
      // The one capital whose small form is two characters: i with two dots.
      small += character.code == 0x130 ? "i\u0307"
                                       : to_utf8(small_letter(character.code));
      text.remove_prefix(character.bytes);
    }
  }
  return small;
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    lines.emplace_back(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

}  // namespace translate
