#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace heed {

/// A sequence that a search came to.
struct Hypothesis {
  /// Without the ids that begin and end it.
  std::vector<int64_t> tokens;
  /// What hypotheses are ranked by: log_prob / length_penalty(length, alpha),
  /// the length being the number of tokens, the one that ends it included.
  double score = 0;
  /// The sum of the tokens' log-probabilities, of the one that ends it too.
  double log_prob = 0;
  /// By the id that ends sequences; else cut off at the greatest length, or
  /// where no token was possible.
  bool ended = false;
};

/// ((5 + length) / 6)^alpha (Wu et al. 2016, arXiv:1609.08144, section 7): 1
/// for one token. With a larger alpha longer sequences win.
inline double length_penalty(int64_t length, double alpha) {
  return std::pow((5 + static_cast<double>(length)) / 6, alpha);
}

}  // namespace heed
