#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace translate {

/// Whether `text` is well-formed UTF-8: no overlong forms, no surrogates.
bool is_utf8(std::string_view text);

/// The characters of well-formed UTF-8, one string each. A byte that is none is
/// a character of its own.
std::vector<std::string> characters(std::string_view text);

/// What stands between white space, Unicode's included.
std::vector<std::string> words(std::string_view text);

/// Whether there is nothing but white space in `text`.
bool is_blank(std::string_view text);

/// `text` in small letters, of whatever script; as Python's str.lower(), but
/// that a sigma at the end of a word is an ordinary one.
std::string lowercased(std::string_view text);

/// The lines of a text, their \n or \r\n removed; the last one may lack it.
std::vector<std::string> split_lines(std::string_view text);

}  // namespace translate
