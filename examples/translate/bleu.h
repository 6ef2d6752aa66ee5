#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace translate {

/// BLEU of a whole text (Papineni et al. 2002) and what it is made of.
struct BleuScore {
  double score = 0;                    ///< 0 to 100.
  std::array<int64_t, 4> matches{};    ///< n-grams found in the reference.
  std::array<int64_t, 4> totals{};     ///< n-grams of the translation.
  std::array<double, 4> precisions{};  ///< In percent, smoothed.
  double brevity_penalty = 0;
  int64_t hypothesis_length = 0;
  int64_t reference_length = 0;

  /// As sacreBLEU prints it: "BLEU = 38.1 68.2/44.6/31.0/22.1 (BP = ...)".
  std::string to_string() const;
};

struct BleuOptions {
  bool lowercase = false;
  /// Split as mteval-v13a does; else at spaces alone.
  bool tokenize = true;
};

/// As sacreBLEU computes it by default (Post 2018, arXiv:1804.08771): one
/// reference a line, n-grams counted over the whole text up to n = 4 and
/// clipped, and where none of a length matches, exponential smoothing:
///
///     BLEU = BP * (p1 p2 p3 p4)^(1/4),  BP = min(1, exp(1 - ref_len /
///     hyp_len)) p_n = 100 matches_n / totals_n, or 100 / (2^k totals_n) for
///     the k-th
///           length without a match
///
/// 0 when nothing matches at all, and when no line has four tokens. Throws
/// std::invalid_argument unless there are as many hypotheses as references.
BleuScore bleu(
    const std::vector<std::string>& hypotheses,
    const std::vector<std::string>& references,
    const BleuOptions& options = {});

/// What one needs to know to compare scores, in sacreBLEU's words.
std::string bleu_signature(const BleuOptions& options = {});

/// The tokens of mteval-v13a, the WMT's tokenizer, joined by spaces.
std::string tokenize_13a(const std::string& line);

}  // namespace translate
