#include "examples/translate/score.h"

#include <heed/autograd/cross_entropy.h>
#include <heed/autograd/grad_mode.h>
#include <heed/nn/evaluation.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "examples/translate/bleu.h"
#include "examples/translate/translator.h"

namespace translate {
namespace {

std::vector<std::string> in_pieces(
    const Vocabulary& vocabulary, const std::vector<std::string>& lines) {
  std::vector<std::string> spaced;
  for (const std::string& line : lines) {
    spaced.emplace_back();
    for (int64_t id : vocabulary.encode(line)) {
      spaced.back() += vocabulary.piece(id) + " ";
    }
  }
  return spaced;
}

double loss_of(
    const TranslationModel& model,
    const std::vector<Pair>& pairs,
    int64_t batch_tokens) {
  std::vector<size_t> all(pairs.size());
  std::iota(all.begin(), all.end(), size_t{0});
  double sum = 0;
  int64_t tokens = 0;
  for (const auto& indices : by_length(pairs, all, batch_tokens)) {
    const Batch batch = make_batch(pairs, indices);
    sum += heed::cross_entropy(
               model.transformer(batch.src, batch.tgt),
               batch.targets,
               {.ignore_index = kPadId, .reduction = heed::Reduction::sum})
               .item<double>();
    tokens += batch.tokens;
  }
  return sum / static_cast<double>(std::max<int64_t>(tokens, 1));
}

}  // namespace

double Score::perplexity() const { return std::exp(loss); }

nlohmann::ordered_json to_json(const Score& score) {
  return {
      {"loss", score.loss},
      {"bleu", score.bleu},
      {"exact_match", score.exact_match}};
}

Score score_from(const nlohmann::ordered_json& json) {
  return {
      .loss = json.at("loss").get<double>(),
      .bleu = json.at("bleu").get<double>(),
      .exact_match = json.at("exact_match").get<double>()};
}

double text_bleu(
    const TranslationModel& model,
    const std::vector<std::string>& hypotheses,
    const std::vector<std::string>& references) {
  if (model.task == "numbers" || model.task == "dates") {
    return bleu(
               in_pieces(*model.vocabulary, hypotheses),
               in_pieces(*model.vocabulary, references),
               {.tokenize = false})
        .score;
  }
  return bleu(hypotheses, references).score;
}

Score score(
    TranslationModel& model,
    const ParallelText& text,
    const std::vector<Pair>& pairs,
    int64_t batch_tokens) {
  const heed::Evaluation evaluation(model.transformer);
  Score score;
  score.loss = loss_of(model, pairs, batch_tokens);
  const std::vector<std::string> lines = translate_greedily(model, text.src);
  int64_t exact = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    exact += lines[i] == text.tgt[i] ? 1 : 0;
  }
  score.bleu = text_bleu(model, lines, text.tgt);
  score.exact_match =
      static_cast<double>(exact) / static_cast<double>(lines.size());
  return score;
}

}  // namespace translate
