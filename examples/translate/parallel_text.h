#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace translate {

/// Sentences and their translations: line i of `tgt` translates line i of
/// `src`.
struct ParallelText {
  std::vector<std::string> src;
  std::vector<std::string> tgt;

  size_t size() const { return src.size(); }
  void add(std::string source, std::string target) {
    src.push_back(std::move(source));
    tgt.push_back(std::move(target));
  }
};

/// What a training run learns from and is measured by.
struct Dataset {
  ParallelText train;
  ParallelText valid;  ///< Looked at again and again during training.
  ParallelText test;   ///< Looked at once, at the end; may be empty.
};

}  // namespace translate
