#include "examples/translate/attention_weights.h"

#include <heed/nn/evaluation.h>
#include <heed/tensor/elementwise.h>
#include <heed/tensor/error.h>
#include <heed/tensor/reduction.h>

#include <cctype>

#include "examples/translate/batches.h"
#include "examples/translate/translator.h"
#include "examples/translate/utf8.h"

namespace translate {
namespace {

bool begins_with_punctuation(const std::string& piece) {
  return std::ispunct(static_cast<unsigned char>(piece[0])) != 0;
}

// A piece within a word shows that it is one, marks apart.
std::vector<std::string> labels(const Vocabulary& vocabulary, const Ids& ids) {
  const std::string start = kWordStart;
  std::vector<std::string> all;
  for (int64_t id : ids) {
    const std::string piece = vocabulary.piece(id);
    if (id < kSpecialIds || piece == start || begins_with_punctuation(piece)) {
      all.push_back(piece);
    } else if (piece.starts_with(start)) {
      all.push_back(piece.substr(start.size()));
    } else {
      all.push_back("\u00b7" + piece);
    }
  }
  return all;
}

std::vector<heed::Tensor> of_one_sentence(
    const std::vector<heed::Variable>& layers) {
  std::vector<heed::Tensor> heads;
  for (const heed::Variable& layer : layers) {
    heads.push_back(layer.value()[0]);
  }
  return heads;
}

}  // namespace

Attention attention_of(
    TranslationModel& model, const std::string& line, const Ids& ids) {
  if (is_blank(line)) {
    heed::fail("translate attention", "--text must not be blank");
  }
  const heed::Evaluation evaluation(model.transformer);
  const Vocabulary& vocabulary = *model.vocabulary;
  const Source source = source_of(model, line);
  Pair pair{source.ids, ids};
  pair.tgt.insert(pair.tgt.begin(), kBosId);
  pair.tgt.push_back(kEosId);
  const Batch batch = make_batch({pair}, {0});
  heed::AttentionWeights weights;
  model.transformer.forward(batch.src, batch.tgt, &weights);
  const auto read = labels(vocabulary, pair.src);
  const auto given =
      labels(vocabulary, Ids(pair.tgt.begin(), pair.tgt.end() - 1));
  const auto said =
      labels(vocabulary, Ids(pair.tgt.begin() + 1, pair.tgt.end()));
  return {
      .source = source.cut ? vocabulary.decode(source.ids) + " ..." : line,
      .translation = vocabulary.decode(ids),
      .cut = source.cut,
      .kinds = {
          {"cross",
           "Translation looks at source",
           said,
           read,
           of_one_sentence(weights.decoder_cross)},
          {"encoder",
           "Source looks at itself",
           read,
           read,
           of_one_sentence(weights.encoder)},
          {"decoder",
           "Translation looks at what it said",
           given,
           given,
           of_one_sentence(weights.decoder_self)}}};
}

examples::HeatMap head_map(
    const AttentionKind& kind, size_t layer, int64_t head) {
  return {
      kind.title + ", layer " + std::to_string(layer + 1) + ", head " +
          std::to_string(head + 1),
      kind.layers.at(layer)[head],
      kind.rows,
      kind.columns};
}

examples::HeatMap alignment_map(const Attention& attention) {
  const AttentionKind& cross = attention.kinds.front();
  heed::Tensor sum;
  for (const heed::Tensor& heads : cross.layers) {
    const heed::Tensor layer = heed::mean(heads, 0);
    sum = sum.defined() ? sum + layer : layer;
  }
  return {
      "",
      sum / static_cast<double>(cross.layers.size()),
      cross.rows,
      cross.columns};
}

}  // namespace translate
