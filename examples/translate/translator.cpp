#include "examples/translate/translator.h"

#include <heed/nn/beam_search.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

#include "examples/translate/batches.h"
#include "examples/translate/utf8.h"

namespace translate {
namespace {

// More tokens than a translation of so many should need.
int64_t length_limit(const Ids& source) {
  return 20 + 3 * static_cast<int64_t>(source.size());
}

// The same text may be put together of pieces in several ways: its likeliest
// way stands for all.
std::vector<Translation> different(
    const std::vector<heed::Hypothesis>& hypotheses,
    const Vocabulary& vocabulary,
    int64_t n_best) {
  std::vector<Translation> translations;
  std::set<std::string> texts;
  for (const heed::Hypothesis& hypothesis : hypotheses) {
    const std::string text = vocabulary.decode(hypothesis.tokens);
    if (static_cast<int64_t>(translations.size()) < n_best &&
        texts.insert(text).second) {
      translations.push_back(
          {.text = text,
           .ids = hypothesis.tokens,
           .score = hypothesis.score,
           .log_prob = hypothesis.log_prob});
    }
  }
  return translations;
}

}  // namespace

Source source_of(const TranslationModel& model, const std::string& line) {
  Source source{encode_source(*model.vocabulary, line)};
  if (source.ids.size() > kMaxSourceTokens) {
    source.ids.resize(kMaxSourceTokens);
    source.ids.back() = kEosId;
    source.cut = true;
  }
  return source;
}

void warn_of_cut(const std::string& where) {
  std::fprintf(
      stderr,
      "%s: only the first %zu tokens are translated\n",
      where.c_str(),
      kMaxSourceTokens - 1);
}

std::vector<TranslatedLine> translate_lines(
    TranslationModel& model,
    const std::vector<std::string>& lines,
    const TranslatorOptions& options) {
  std::vector<TranslatedLine> translated(lines.size());
  std::vector<std::pair<Ids, size_t>> sources;  // and of which line
  for (size_t i = 0; i < lines.size(); ++i) {
    if (is_blank(lines[i])) {
      translated[i].best.emplace_back();
    } else {
      Source source = source_of(model, lines[i]);
      translated[i].cut = source.cut;
      sources.emplace_back(std::move(source.ids), i);
    }
  }
  std::stable_sort(
      sources.begin(), sources.end(), [](const auto& a, const auto& b) {
        return a.first.size() < b.first.size();
      });
  const auto batch = static_cast<size_t>(options.batch);
  for (size_t first = 0; first < sources.size(); first += batch) {
    const size_t last = std::min(sources.size(), first + batch);
    std::vector<Ids> rows;
    std::vector<int64_t> limits;
    for (size_t i = first; i < last; ++i) {
      rows.push_back(sources[i].first);
      limits.push_back(
          std::min(options.max_length, length_limit(sources[i].first)));
    }
    const auto found = heed::beam_search(
        model.transformer,
        padded(rows),
        {.bos_id = kBosId,
         .eos_id = kEosId,
         .beam_size = options.beam,
         .n_best = options.n_best == 1 ? 1 : options.beam,
         .alpha = options.alpha,
         .max_length = options.max_length,
         .max_lengths = limits,
         .banned_ids = {kPadId, kBosId}});
    for (size_t i = first; i < last; ++i) {
      translated[sources[i].second].best =
          different(found[i - first], *model.vocabulary, options.n_best);
    }
  }
  return translated;
}

std::vector<std::string> translate_greedily(
    TranslationModel& model, const std::vector<std::string>& lines) {
  std::vector<std::string> texts;
  for (TranslatedLine& line :
       translate_lines(model, lines, {.beam = 1, .batch = 64})) {
    texts.push_back(std::move(line.best.front().text));
  }
  return texts;
}

}  // namespace translate
