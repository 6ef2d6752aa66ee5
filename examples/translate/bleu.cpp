#include "examples/translate/bleu.h"

#include <heed/tensor/error.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string_view>

#include "examples/translate/utf8.h"

namespace translate {
namespace {

using Tokens = std::vector<std::string>;
using Counts = std::map<std::vector<std::string_view>, int64_t>;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_point(char c) { return c == '.' || c == ','; }

// The marks that stand alone whatever is beside them: all of ASCII but
// ' , - . and letters and digits.
bool is_separate(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') ||
         (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') ||
         (c >= ':' && c <= '@') || c == '/';
}

void replace_all(
    std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// Where the bytes a, b match first and second, puts `left`, `middle` and
// `right` around them; what was matched is not looked at again.
template <typename First, typename Second>
std::string spaced(
    const std::string& text,
    First first,
    Second second,
    const char* left,
    const char* middle,
    const char* right) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 < text.size() && first(text[i]) && second(text[i + 1])) {
      out += left;
      out += text[i];
      out += middle;
      out += text[++i];
      out += right;
    } else {
      out += text[i];
    }
  }
  return out;
}

Counts ngrams(const Tokens& tokens, size_t n) {
  Counts counts;
  for (size_t i = 0; i + n <= tokens.size(); ++i) {
    ++counts[{
        tokens.begin() + static_cast<int64_t>(i),
        tokens.begin() + static_cast<int64_t>(i + n)}];
  }
  return counts;
}

Tokens tokens_of(std::string line, const BleuOptions& options) {
  if (options.lowercase) {
    line = lowercased(line);
  }
  return words(options.tokenize ? tokenize_13a(line) : line);
}

void finish(BleuScore& bleu) {
  const auto hypothesis = static_cast<double>(bleu.hypothesis_length);
  const auto reference = static_cast<double>(bleu.reference_length);
  bleu.brevity_penalty = 1;
  if (bleu.hypothesis_length < bleu.reference_length) {
    bleu.brevity_penalty =
        bleu.hypothesis_length == 0 ? 0 : std::exp(1 - reference / hypothesis);
  }
  if (bleu.matches[0] == 0) {
    return;  // nothing matches: no smoothing makes that better than 0
  }
  double smoothing = 1;
  double logarithms = 0;
  for (size_t n = 0; n < 4; ++n) {
    if (bleu.totals[n] == 0) {
      return;
    }
    auto matches = static_cast<double>(bleu.matches[n]);
    if (matches == 0) {
      smoothing *= 2;
      matches = 1 / smoothing;
    }
    bleu.precisions[n] = 100 * matches / static_cast<double>(bleu.totals[n]);
    logarithms += std::log(bleu.precisions[n]);
  }
  // Rounding must not make more than 100 of a perfect translation.
  bleu.score = std::min(100.0, bleu.brevity_penalty * std::exp(logarithms / 4));
}

}  // namespace

std::string tokenize_13a(const std::string& line) {
  std::string text = line;
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  replace_all(text, "\n", " ");
  replace_all(text, "&quot;", "\"");
  replace_all(text, "&amp;", "&");
  replace_all(text, "&lt;", "<");
  replace_all(text, "&gt;", ">");

  std::string apart = " ";
  for (char c : text + " ") {
    apart += is_separate(c) ? std::string{' ', c, ' '} : std::string(1, c);
  }
  const auto no_digit = [](char c) { return !is_digit(c); };
  // Points and commas stand alone unless digits are on both sides, a hyphen
  // when a digit is before it.
  apart = spaced(apart, no_digit, is_point, "", " ", " ");
  apart = spaced(apart, is_point, no_digit, " ", " ", "");
  apart = spaced(
      apart, is_digit, [](char c) { return c == '-'; }, "", " ", " ");

  std::string joined;
  for (const std::string& word : words(apart)) {
    joined += (joined.empty() ? "" : " ") + word;
  }
  return joined;
}

BleuScore bleu(
    const std::vector<std::string>& hypotheses,
    const std::vector<std::string>& references,
    const BleuOptions& options) {
  if (hypotheses.size() != references.size()) {
    heed::fail(
        "bleu",
        "there must be as many hypotheses as references, got ",
        hypotheses.size(),
        " and ",
        references.size());
  }
  BleuScore bleu;
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    const Tokens hypothesis = tokens_of(hypotheses[i], options);
    const Tokens reference = tokens_of(references[i], options);
    bleu.hypothesis_length += static_cast<int64_t>(hypothesis.size());
    bleu.reference_length += static_cast<int64_t>(reference.size());
    for (size_t n = 1; n <= 4; ++n) {
      const Counts allowed = ngrams(reference, n);
      for (const auto& [ngram, count] : ngrams(hypothesis, n)) {
        bleu.totals[n - 1] += count;
        const auto found = allowed.find(ngram);
        if (found != allowed.end()) {
          bleu.matches[n - 1] += std::min(count, found->second);
        }
      }
    }
  }
  finish(bleu);
  return bleu;
}

std::string BleuScore::to_string() const {
  char text[160];
  std::snprintf(
      text,
      sizeof text,
      "BLEU = %.2f %.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %lld "
      "ref_len = %lld)",
      score,
      precisions[0],
      precisions[1],
      precisions[2],
      precisions[3],
      brevity_penalty,
      reference_length == 0 ? 0.0
                            : static_cast<double>(hypothesis_length) /
                                  static_cast<double>(reference_length),
      static_cast<long long>(hypothesis_length),
      static_cast<long long>(reference_length));
  return text;
}

std::string bleu_signature(const BleuOptions& options) {
  return std::string("nrefs:1|case:") + (options.lowercase ? "lc" : "mixed") +
         "|eff:no|tok:" + (options.tokenize ? "13a" : "none") + "|smooth:exp";
}

}  // namespace translate
