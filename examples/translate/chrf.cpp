#include "examples/translate/chrf.h"

#include <heed/tensor/error.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

#include "examples/translate/utf8.h"

namespace translate {
namespace {

constexpr size_t kOrder = 6;
constexpr double kBeta = 2;  // recall counts twice as much as precision

std::vector<std::string> visible_characters(
    const std::string& line, const ChrfOptions& options) {
  std::string text;
  for (const std::string& word :
       words(options.lowercase ? lowercased(line) : line)) {
    text += word;
  }
  return characters(text);
}

std::map<std::string, int64_t> ngrams(
    const std::vector<std::string>& all, size_t n) {
  std::map<std::string, int64_t> counts;
  for (size_t i = 0; i + n <= all.size(); ++i) {
    std::string ngram;
    for (size_t j = i; j < i + n; ++j) {
      ngram += all[j];
    }
    ++counts[ngram];
  }
  return counts;
}

/// Of n-grams of one length.
struct Counts {
  int64_t hypothesis = 0;
  int64_t reference = 0;
  int64_t matches = 0;
};

double f_score(const std::array<Counts, kOrder>& counts) {
  double precision = 0;
  double recall = 0;
  double orders = 0;
  for (const Counts& c : counts) {
    if (c.hypothesis > 0 && c.reference > 0) {
      const auto matches = static_cast<double>(c.matches);
      precision += matches / static_cast<double>(c.hypothesis);
      recall += matches / static_cast<double>(c.reference);
      ++orders;
    }
  }
  if (precision + recall == 0) {
    return 0;
  }
  precision /= orders;
  recall /= orders;
  const double weight = kBeta * kBeta;
  return 100 * (1 + weight) * precision * recall /
         (weight * precision + recall);
}

}  // namespace

double chrf2(
    const std::vector<std::string>& hypotheses,
    const std::vector<std::string>& references,
    const ChrfOptions& options) {
  if (hypotheses.size() != references.size()) {
    heed::fail(
        "chrf2",
        "there must be as many hypotheses as references, got ",
        hypotheses.size(),
        " and ",
        references.size());
  }
  std::array<Counts, kOrder> counts;
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    const auto hypothesis = visible_characters(hypotheses[i], options);
    const auto reference = visible_characters(references[i], options);
    for (size_t n = 1; n <= kOrder; ++n) {
      Counts& c = counts[n - 1];
      const auto allowed = ngrams(reference, n);
      if (allowed.empty()) {
        continue;
      }
      for (const auto& [ngram, count] : allowed) {
        c.reference += count;
      }
      for (const auto& [ngram, count] : ngrams(hypothesis, n)) {
        c.hypothesis += count;
        const auto found = allowed.find(ngram);
        if (found != allowed.end()) {
          c.matches += std::min(count, found->second);
        }
      }
    }
  }
  return f_score(counts);
}

std::string chrf2_signature(const ChrfOptions& options) {
  return std::string("nrefs:1|case:") + (options.lowercase ? "lc" : "mixed") +
         "|eff:yes|nc:6|nw:0|space:no";
}

}  // namespace translate
