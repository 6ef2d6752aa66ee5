#include "examples/translate/translator.h"

#include <heed/nn/greedy_decoding.h>

#include <algorithm>
#include <numeric>

#include "examples/translate/batches.h"
#include "examples/translate/utf8.h"

namespace translate {
namespace {

constexpr size_t kRows = 64;

// More tokens than a translation of so many should need.
int64_t length_limit(size_t source) {
  return 20 + 3 * static_cast<int64_t>(source);
}

}  // namespace

std::vector<std::string> translate_greedily(
    TranslationModel& model, const std::vector<std::string>& lines) {
  std::vector<Ids> sources;
  std::vector<size_t> order;
  for (size_t i = 0; i < lines.size(); ++i) {
    sources.push_back(encode_source(*model.vocabulary, lines[i]));
    if (!is_blank(lines[i])) {
      order.push_back(i);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return sources[a].size() < sources[b].size();
  });
  std::vector<std::string> translations(lines.size());
  for (size_t first = 0; first < order.size(); first += kRows) {
    const size_t last = std::min(order.size(), first + kRows);
    std::vector<Ids> rows;
    for (size_t i = first; i < last; ++i) {
      rows.push_back(sources[order[i]]);
    }
    const auto sequences = heed::greedy_decode(
        model.transformer,
        padded(rows),
        {.bos_id = kBosId,
         .eos_id = kEosId,
         .max_length = length_limit(rows.back().size())});
    for (size_t i = first; i < last; ++i) {
      translations[order[i]] = model.vocabulary->decode(sequences[i - first]);
    }
  }
  return translations;
}

}  // namespace translate
