#include "examples/translate/score.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "examples/translate/translator.h"
#include "tests/examples/translate/small_model.h"

using namespace translate;
using doctest::Approx;

namespace {

ParallelText numbers(std::initializer_list<int64_t> all) {
  ParallelText text;
  for (int64_t n : all) {
    text.add(english_number(n), german_number(n));
  }
  return text;
}

}  // namespace

TEST_CASE("score: what the model says itself is exactly right") {
  const auto model = small_model();
  ParallelText text = numbers({7, 42, 617, 90'210});
  const Score wrong = score(*model, text, encode(*model->vocabulary, text), 64);
  CHECK(wrong.exact_match == 0);
  CHECK(wrong.loss > 2);  // an untrained model's
  text.tgt = translate_greedily(*model, text.src);
  text.tgt[3] = "eins";
  const Score right = score(*model, text, encode(*model->vocabulary, text), 64);
  CHECK(right.exact_match == 0.75);
  CHECK(right.bleu > wrong.bleu);
}

TEST_CASE("score: the loss is a mean over tokens, however they are batched") {
  const auto model = small_model(/*dropout=*/0.5);  // which is left out
  const ParallelText text = numbers({1, 20, 300, 4'567, 89'012, 345'678});
  const std::vector<Pair> pairs = encode(*model->vocabulary, text);
  const double loss = score(*model, text, pairs, 10'000).loss;
  CHECK(score(*model, text, pairs, 1).loss == Approx(loss));
  double sum = 0;
  double tokens = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    ParallelText line;
    line.add(text.src[i], text.tgt[i]);
    const auto count = static_cast<double>(pairs[i].tgt.size() - 1);
    sum += count * score(*model, line, {pairs[i]}, 64).loss;
    tokens += count;
  }
  CHECK(loss == Approx(sum / tokens));
}

TEST_CASE("score: perplexity is the loss's exponential; json keeps all") {
  const Score score{.loss = 1.5, .bleu = 38.25, .exact_match = 0.125};
  CHECK(score.perplexity() == Approx(std::exp(1.5)));
  const Score again = score_from(to_json(score));
  CHECK(again.loss == 1.5);
  CHECK(again.bleu == 38.25);
  CHECK(again.exact_match == 0.125);
  CHECK_THROWS(score_from({{"loss", 1.5}}));
}

TEST_CASE("text_bleu: number words are compared in pieces, text in words") {
  const auto model = small_model();
  const std::vector<std::string> one = {"zweiundvierzigtausendsieben"};
  CHECK(text_bleu(*model, one, one) == Approx(100));
  model->task = "text";
  CHECK(text_bleu(*model, one, one) == 0);  // no four words
}
