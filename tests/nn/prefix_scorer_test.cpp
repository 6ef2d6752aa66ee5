#include "nn/prefix_scorer.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

#include "autograd/grad_mode.h"
#include "nn/embedding.h"
#include "nn/greedy_decoding.h"
#include "nn/linear.h"
#include "nn/positional_encoding.h"
#include "nn/transformer_encoder.h"
#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/indexing.h"
#include "tensor/joining.h"
#include "tensor/reduction.h"

using namespace heed;

TEST_CASE("PrefixScorer: hands on prefixes and whose they are") {
  Tensor prefixes;
  std::vector<int64_t> sentences;
  PrefixScorer scorer(
      2, 3, [&](const Tensor& ids, const std::vector<int64_t>& of_row) {
        prefixes = ids;
        sentences = of_row;
        return zeros({ids.size(0), 3});
      });
  scorer.step(tensor({7, 8}));
  CHECK(equal(prefixes, tensor({{7}, {8}})));
  CHECK(sentences == std::vector<int64_t>{0, 1});
  scorer.select_rows({1, 1, 0, 0}, 2);
  scorer.step(tensor({1, 2, 3, 4}));
  CHECK(equal(prefixes, tensor({{8, 1}, {8, 2}, {7, 3}, {7, 4}})));
  CHECK(sentences == std::vector<int64_t>{1, 1, 0, 0});
  scorer.select_rows({3}, 1);
  scorer.step(tensor({5}));
  CHECK(equal(prefixes, tensor({{7, 4, 5}})));
  CHECK(sentences == std::vector<int64_t>{0});
}

TEST_CASE("PrefixScorer: a decoder alone goes on from a prompt") {
  Generator generator(1);
  const Embedding embedding(9, 16, {.generator = generator});
  const SinusoidalPositionalEncoding positions(16);
  TransformerEncoder stack(
      2, 16, 4, 32, {.dropout = 0, .generator = generator});
  const Linear project(16, 9, {.generator = generator});
  const auto logits = [&](const Tensor& ids) {
    const NoGradGuard no_grad;
    const Variable x =
        stack.forward(positions.forward(embedding(ids)), {.is_causal = true});
    return project(x.select(1, -1)).value();
  };
  Tensor expected = tensor({{3, 5, 4}, {6, 1, 2}});
  for (int64_t t = 0; t < 6; ++t) {
    const Tensor next = argmax(logits(expected), -1, /*keepdim=*/true);
    expected = cat({expected, next}, 1);
  }
  const Tensor prompts = tensor({{3, 5}, {6, 1}});
  const Tensor last = tensor({{4}, {2}});  // in place of what begins
  PrefixScorer scorer(
      2, 9, [&](const Tensor& ids, const std::vector<int64_t>& of_row) {
        const Tensor rows =
            from_vector(of_row, {static_cast<int64_t>(of_row.size())});
        return logits(
            cat({index_select(prompts, 0, rows),
                 index_select(last, 0, rows),
                 ids.slice(1, 1, ids.size(1))},
                1));
      });
  const auto found =
      greedy_decode(scorer, {.bos_id = 0, .eos_id = 0, .max_length = 6});
  for (int64_t i = 0; i < 2; ++i) {
    std::vector<int64_t> wanted =
        expected[i].slice(0, 3, 9).to_vector<int64_t>();
    for (size_t t = 0; t < wanted.size(); ++t) {
      if (wanted[t] == 0) {
        wanted.resize(t);
      }
    }
    CHECK(found[static_cast<size_t>(i)] == wanted);
  }
}

TEST_CASE("PrefixScorer: bad sizes are refused") {
  const auto scores = [](const Tensor& ids, const std::vector<int64_t>&) {
    return ids;
  };
  CHECK_THROWS_WITH_AS(
      PrefixScorer(-1, 3, scores),
      "PrefixScorer: num_sentences must be >= 0 and vocab_size positive, got "
      "-1 and 3",
      std::invalid_argument);
  CHECK_THROWS_AS(PrefixScorer(1, 0, scores), std::invalid_argument);
}
