#include "nn/transformer_scorer.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/indexing.h"
#include "tensor/joining.h"
#include "tensor/random.h"

using namespace heed;

namespace {

TransformerOptions small() {
  static Generator generator;
  generator.set_seed(1);
  return {
      .num_encoder_layers = 2,
      .num_decoder_layers = 2,
      .d_model = 16,
      .num_heads = 4,
      .d_ff = 32,
      .dropout = 0,
      .dtype = kFloat64,
      .generator = generator};
}

}  // namespace

TEST_CASE("TransformerScorer: rows of one source share it and go their ways") {
  const Transformer model(11, 11, small());
  const Tensor src = tensor({{3, 4, 5, 0}, {6, 0, 0, 0}, {7, 8, 9, 10}});
  TransformerScorer scorer(model, src);
  CHECK(scorer.num_sentences() == 3);
  CHECK(scorer.vocab_size() == 11);
  Tensor prefixes = ones({3, 1}, kInt64);
  Tensor sources = src;
  scorer.step(prefixes.select(1, 0));
  Generator generator(2);
  const std::vector<std::pair<std::vector<int64_t>, int64_t>> selections = {
      {{0, 0, 1, 1, 2, 2}, 2},
      {{1, 0, 2, 2, 5, 4}, 2},
      {{4, 5, 2, 3}, 2},
      {{3, 3, 2, 0, 1, 0}, 3},
      {{5, 0}, 1},
      {{1, 1, 1}, 3},
      {{2}, 1}};
  for (const auto& [rows, rows_per_sentence] : selections) {
    const auto count = static_cast<int64_t>(rows.size());
    const Tensor ids = from_vector(rows, {count});
    scorer.select_rows(rows, rows_per_sentence);
    prefixes = index_select(prefixes, 0, ids);
    sources = index_select(sources, 0, ids);
    const Tensor next = randint(0, 11, {count}, kInt64, generator);
    prefixes = cat({prefixes, next.unsqueeze(1)}, 1);
    CHECK(allclose(
        scorer.step(next),
        model(sources, prefixes).value().select(1, -1),
        1e-10,
        1e-10));
  }
}

TEST_CASE("TransformerScorer: as many tokens as there are positions") {
  TransformerOptions options = small();
  CHECK(
      TransformerScorer(Transformer(5, 5, options), ones({1, 2}, kInt64))
          .max_length() > 1'000'000);
  options.learned_positions = 4;
  const Transformer model(5, 5, options);
  CHECK(TransformerScorer(model, ones({1, 2}, kInt64)).max_length() == 4);
  CHECK_THROWS_AS(
      TransformerScorer(model, ones({1, 5}, kInt64)), std::invalid_argument);
}
