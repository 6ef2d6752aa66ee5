#include "examples/translate/piece_vocabulary.h"

#include <heed/tensor/error.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "examples/translate/utf8.h"

namespace translate {
namespace {

constexpr const char* kHeader = "heed pieces 1";

bool is_punctuation(const std::string& character) {
  return character.size() == 1 &&
         std::ispunct(static_cast<unsigned char>(character[0])) != 0;
}

// A word's runs of letters and digits, and its marks one by one; the first
// with kWordStart.
std::vector<std::string> runs_and_marks(const std::string& word) {
  std::vector<std::string> parts;
  bool in_run = false;
  for (const std::string& character : characters(word)) {
    if (is_punctuation(character) || !in_run) {
      parts.emplace_back(parts.empty() ? kWordStart : "");
    }
    parts.back() += character;
    in_run = !is_punctuation(character);
  }
  return parts;
}

}  // namespace

PieceVocabulary::PieceVocabulary(const std::vector<std::string>& pieces)
    : pieces_{"<pad>", "<unk>", "<s>", "</s>"} {
  for (const std::string& piece : pieces) {
    if (piece.empty() || piece.find_first_of(" \n\r") != std::string::npos) {
      heed::fail(
          "PieceVocabulary",
          "a piece must not be empty or hold a space, got \"",
          piece,
          "\"");
    }
    if (!ids_.emplace(piece, size()).second) {
      heed::fail(
          "PieceVocabulary",
          "pieces must be different, got \"",
          piece,
          "\" twice");
    }
    pieces_.push_back(piece);
    longest_ = std::max(longest_, piece.size());
  }
}

PieceVocabulary PieceVocabulary::of_words(
    const std::vector<std::string>& lines,
    int64_t max_size,
    int64_t min_count) {
  std::map<std::string, int64_t> counts;
  for (const std::string& line : lines) {
    for (const std::string& word : words(line)) {
      for (std::string& part : runs_and_marks(word)) {
        ++counts[std::move(part)];
      }
    }
  }
  std::vector<std::pair<int64_t, std::string>> ranked;
  for (const auto& [part, count] : counts) {
    if (count >= min_count) {
      ranked.emplace_back(-count, part);
    }
  }
  std::sort(ranked.begin(), ranked.end());
  const auto room =
      static_cast<size_t>(std::max<int64_t>(max_size - kSpecialIds, 0));
  ranked.resize(std::min(ranked.size(), room));
  std::vector<std::string> pieces;
  for (const auto& [count, part] : ranked) {
    pieces.push_back(part);
  }
  return PieceVocabulary(pieces);
}

PieceVocabulary PieceVocabulary::of_characters(
    const std::vector<std::string>& lines) {
  std::map<std::string, int64_t> seen = {{kWordStart, 0}};
  for (const std::string& line : lines) {
    for (const std::string& word : words(line)) {
      for (const std::string& character : characters(word)) {
        ++seen[character];
      }
    }
  }
  std::vector<std::string> pieces;
  for (const auto& [character, count] : seen) {
    pieces.push_back(character);
  }
  return PieceVocabulary(pieces);
}

PieceVocabulary PieceVocabulary::load(const std::string& bytes) {
  std::vector<std::string> lines = split_lines(bytes);
  if (lines.empty() || lines[0] != kHeader || !is_utf8(bytes)) {
    heed::fail<std::runtime_error>(
        "load_vocabulary",
        "a list of pieces must begin with \"",
        kHeader,
        "\" and be UTF-8");
  }
  lines.erase(lines.begin());
  try {
    return PieceVocabulary(lines);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(error.what());
  }
}

Ids PieceVocabulary::encode(const std::string& line) const {
  Ids ids;
  for (const std::string& plain : words(line)) {
    const std::string word = kWordStart + plain;
    Ids pieces;
    for (size_t at = 0; at < word.size();) {
      size_t length = std::min(longest_, word.size() - at);
      auto found = ids_.end();
      for (; length > 0; --length) {
        found = ids_.find(word.substr(at, length));
        if (found != ids_.end()) {
          break;
        }
      }
      if (length == 0) {
        pieces = {kUnkId};
        break;
      }
      pieces.push_back(found->second);
      at += length;
    }
    ids.insert(ids.end(), pieces.begin(), pieces.end());
  }
  return ids;
}

std::string PieceVocabulary::decode(const Ids& ids) const {
  std::string text;
  for (int64_t id : ids) {
    if (id == kUnkId) {
      text += std::string(kWordStart) + "<unk>";
    } else if (id >= kSpecialIds) {
      text += piece(id);
    }
  }
  std::string line;
  const std::string start = kWordStart;
  for (size_t at = 0; at < text.size();) {
    if (text.compare(at, start.size(), start) == 0) {
      line += line.empty() ? "" : " ";
      at += start.size();
    } else {
      line += text[at++];
    }
  }
  return line;
}

std::string PieceVocabulary::piece(int64_t id) const {
  return pieces_.at(static_cast<size_t>(id));
}

std::string PieceVocabulary::to_bytes() const {
  std::string bytes = std::string(kHeader) + "\n";
  for (size_t id = kSpecialIds; id < pieces_.size(); ++id) {
    bytes += pieces_[id] + "\n";
  }
  return bytes;
}

}  // namespace translate
