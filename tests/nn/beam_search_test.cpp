#include "nn/beam_search.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>
#include <vector>

#include "autograd/grad_mode.h"
#include "nn/greedy_decoding.h"
#include "nn/prefix_scorer.h"
#include "nn/sampling.h"
#include "nn/transformer_scorer.h"
#include "tensor/creation.h"
#include "tensor/elementwise.h"
#include "tensor/indexing.h"
#include "tensor/random.h"
#include "tensor/reduction.h"
#include "tensor/softmax.h"

using namespace heed;

namespace {

using Ids = std::vector<int64_t>;
using Hypotheses = std::vector<Hypothesis>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// One sentence whose next token has probabilities by what came before.
PrefixScorer by_prefix(
    int64_t vocab_size,
    const std::function<std::vector<double>(const Ids& prefix)>& probabilities,
    int64_t sentences = 1) {
  return PrefixScorer(
      sentences,
      vocab_size,
      [=](const Tensor& prefixes, const std::vector<int64_t>&) {
        Tensor scores({prefixes.size(0), vocab_size}, kFloat64);
        for (int64_t row = 0; row < prefixes.size(0); ++row) {
          Ids prefix = prefixes[row].to_vector<int64_t>();
          prefix.erase(prefix.begin());
          std::vector<double> p = probabilities(prefix);
          for (double& v : p) {
            v = std::log(v);
          }
          scores[row].copy_(from_vector(p, {vocab_size}));
        }
        return scores;
      });
}

// Token 0 begins, 1 ends, 2 is "a", 3 "b", 4 "c".
constexpr int64_t kToyVocabulary = 5;

std::vector<double> short_or_long(const Ids& prefix) {
  if (prefix.empty()) {
    return {0, 0.5, 0.45, 0, 0.05};
  }
  if (prefix == Ids{2}) {
    return {0, 0, 0, 1, 0};
  }
  return {0, 1, 0, 0, 0};
}

/// Probabilities of the next token that depend on all tokens before it.
std::vector<double> hashed(const Ids& prefix, int64_t vocab_size) {
  uint64_t seed = 17;
  for (const int64_t id : prefix) {
    seed = seed * 31 + static_cast<uint64_t>(id) + 1;
  }
  Generator generator(seed);
  return softmax(randn({vocab_size}, kFloat64, generator) * 1.5, 0)
      .to_vector<double>();
}

/// All sequences of at most max_length tokens, the best first.
Hypotheses all_sequences(
    const std::function<std::vector<double>(const Ids&)>& probabilities,
    int64_t max_length,
    double alpha) {
  Hypotheses all;
  const std::function<void(const Ids&, double)> visit = [&](const Ids& prefix,
                                                            double log_prob) {
    const auto length = static_cast<int64_t>(prefix.size());
    if (length == max_length) {
      all.push_back(
          {prefix, log_prob / length_penalty(length, alpha), log_prob, false});
      return;
    }
    const std::vector<double> p = probabilities(prefix);
    for (size_t id = 0; id < p.size(); ++id) {
      const double next = log_prob + std::log(p[id]);
      if (id == 1) {
        all.push_back(
            {prefix, next / length_penalty(length + 1, alpha), next, true});
      } else if (p[id] > 0) {
        Ids longer = prefix;
        longer.push_back(static_cast<int64_t>(id));
        visit(longer, next);
      }
    }
  };
  visit({}, 0);
  std::stable_sort(
      all.begin(), all.end(), [](const Hypothesis& a, const Hypothesis& b) {
        return a.score > b.score;
      });
  return all;
}

TransformerOptions small(DType dtype = kFloat64) {
  static Generator generator;
  generator.set_seed(1);
  return {
      .num_encoder_layers = 2,
      .num_decoder_layers = 2,
      .d_model = 16,
      .num_heads = 4,
      .d_ff = 32,
      .dropout = 0,
      .dtype = dtype,
      .generator = generator};
}

/// A model whose sentences end sooner or later.
void sharpen(Transformer& model) {
  model.state_dict().at("output_proj.weight").mul_(4);
  model.state_dict().at("output_proj.bias")[2].fill_(4);
}

/// Sentences of different lengths, filled up with 0.
Tensor sentences(int64_t count, int64_t vocabulary) {
  Generator generator(5);
  Tensor ids = randint(3, vocabulary, {count, 8}, kInt64, generator);
  for (int64_t b = 0; b < count; ++b) {
    ids[b].slice(0, 2 + b % 7, 8).zero_();
  }
  return ids;
}

void check_same(const Hypotheses& a, const Hypotheses& b, double tolerance) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].tokens == b[i].tokens);
    CHECK(a[i].ended == b[i].ended);
    CHECK(a[i].score == doctest::Approx(b[i].score).epsilon(tolerance));
    CHECK(a[i].log_prob == doctest::Approx(b[i].log_prob).epsilon(tolerance));
  }
}

void check_sorted_and_distinct(const Hypotheses& found) {
  for (size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i].score > -kInfinity);
    for (size_t j = 0; j < i; ++j) {
      CHECK(found[j].score >= found[i].score);
      CHECK(
          (found[j].tokens != found[i].tokens ||
           found[j].ended != found[i].ended));
    }
  }
}

}  // namespace

TEST_CASE("beam_search: a longer hypothesis wins under the length penalty") {
  for (const int64_t n_best : {1, 2}) {
    CAPTURE(n_best);
    BeamSearchOptions options{
        .bos_id = 0, .eos_id = 1, .beam_size = 2, .n_best = n_best, .alpha = 0};
    PrefixScorer scorer = by_prefix(kToyVocabulary, short_or_long);
    Hypotheses best = beam_search(scorer, options)[0];
    CHECK(best[0].tokens.empty());
    CHECK(best[0].ended);
    CHECK(best[0].score == doctest::Approx(-0.6931).epsilon(1e-4));
    if (n_best == 2) {
      CHECK(best[1].tokens == Ids{2, 3});
      CHECK(best[1].score == doctest::Approx(-0.7985).epsilon(1e-4));
    }
    options.alpha = 1;
    scorer = by_prefix(kToyVocabulary, short_or_long);
    best = beam_search(scorer, options)[0];
    CHECK(best[0].tokens == Ids{2, 3});
    CHECK(best[0].score == doctest::Approx(-0.5989).epsilon(1e-4));
    CHECK(best[0].log_prob == doctest::Approx(-0.7985).epsilon(1e-4));
    if (n_best == 2) {
      CHECK(best[1].tokens.empty());
      CHECK(best[1].score == doctest::Approx(-0.6931).epsilon(1e-4));
    }
  }
}

TEST_CASE("beam_search: stops as soon as nothing can win any more") {
  int steps = 0;
  const auto count = [&](double alpha, int64_t max_length) {
    steps = 0;
    PrefixScorer scorer =
        by_prefix(3, [&](const Ids& prefix) -> std::vector<double> {
          steps = std::max(steps, static_cast<int>(prefix.size()) + 1);
          return {0, prefix.empty() ? 0.6 : 0.0, prefix.empty() ? 0.4 : 1.0};
        });
    return beam_search(
        scorer,
        {.bos_id = 0,
         .eos_id = 1,
         .beam_size = 2,
         .alpha = alpha,
         .max_length = max_length})[0][0];
  };
  CHECK(count(0, 50).tokens.empty());
  CHECK(steps == 1);
  // -0.511 against -0.916 / ((5 + 6) / 6): only from a length of 6 on.
  CHECK(count(1, 5).tokens.empty());
  CHECK(steps == 1);
  CHECK(count(1, 6).tokens == Ids(6, 2));
  CHECK(steps == 6);
  CHECK(count(-1, 50).tokens.empty());
  CHECK(steps == 1);
}

TEST_CASE("beam_search: a beam that holds everything finds the best of all") {
  for (const double alpha : {0.0, 0.6, 1.0, 2.0, -0.5}) {
    CAPTURE(alpha);
    const auto probabilities = [](const Ids& prefix) {
      return hashed(prefix, 4);
    };
    const Hypotheses all = all_sequences(probabilities, 5, alpha);
    PrefixScorer scorer = by_prefix(4, probabilities);
    const Hypotheses found = beam_search(
        scorer,
        {.bos_id = 0,
         .eos_id = 1,
         .beam_size = 1000,
         .n_best = 400,
         .alpha = alpha,
         .max_length = 5})[0];
    CHECK(all.size() == 364);  // 3^5 cut off, 1 + 3 + 9 + 27 + 81 ended
    check_same(found, all, 1e-10);
    scorer = by_prefix(4, probabilities);
    check_same(
        beam_search(
            scorer,
            {.bos_id = 0,
             .eos_id = 1,
             .beam_size = 1000,
             .n_best = 3,
             .alpha = alpha,
             .max_length = 5})[0],
        {all.begin(), all.begin() + 3},
        1e-10);
  }
}

TEST_CASE(
    "beam_search: hypotheses are distinct, sorted, as many as there are") {
  const auto likes_a = [](const Ids& prefix) -> std::vector<double> {
    return prefix.size() < 3 ? std::vector<double>{0, 0, 1}
                             : std::vector<double>{0, 1, 0};
  };
  PrefixScorer scorer = by_prefix(3, likes_a);
  BeamSearchOptions options{
      .bos_id = 0, .eos_id = 1, .beam_size = 5, .n_best = 5};
  const Hypotheses only = beam_search(scorer, options)[0];
  REQUIRE(only.size() == 1);
  CHECK(only[0].tokens == Ids{2, 2, 2});
  CHECK(only[0].score == 0);

  scorer = by_prefix(3, [](const Ids& prefix) { return hashed(prefix, 3); });
  options.max_length = 10;
  const Hypotheses found = beam_search(scorer, options)[0];
  CHECK(found.size() == 5);
  check_sorted_and_distinct(found);
}

TEST_CASE("beam_search: equal scores go to the lowest ids, always alike") {
  const auto even = [](const Ids&) { return std::vector<double>(6, 1 / 6.0); };
  PrefixScorer scorer = by_prefix(6, even);
  const Hypotheses found = beam_search(
      scorer,
      {.bos_id = 0,
       .eos_id = 1,
       .beam_size = 4,
       .n_best = 4,
       .alpha = 0,
       .max_length = 2,
       .banned_ids = {1}})[0];
  REQUIRE(found.size() == 4);
  CHECK(found[0].tokens == Ids{0, 0});
  CHECK(found[1].tokens == Ids{0, 2});
  CHECK(found[2].tokens == Ids{0, 3});
  CHECK(found[3].tokens == Ids{0, 4});
}

TEST_CASE("beam_search: neither shorter than min_length nor longer than max") {
  const auto random = [](const Ids& prefix) { return hashed(prefix, 5); };
  for (const int64_t min_length : {0, 1, 3, 6}) {
    PrefixScorer scorer = by_prefix(5, random);
    const Hypotheses found = beam_search(
        scorer,
        {.bos_id = 0,
         .eos_id = 1,
         .beam_size = 6,
         .n_best = 6,
         .min_length = min_length,
         .max_length = 6})[0];
    for (const Hypothesis& one : found) {
      const auto length = static_cast<int64_t>(one.tokens.size());
      CHECK(length >= min_length);
      CHECK(length + one.ended <= 6);
      CHECK(one.ended == (length < 6));
      // Log-probabilities are those without a ban.
      double log_prob = 0;
      for (size_t i = 0; i <= one.tokens.size(); ++i) {
        const Ids before(one.tokens.begin(), one.tokens.begin() + i);
        if (i < one.tokens.size()) {
          log_prob += std::log(random(before)[one.tokens[i]]);
        } else if (one.ended) {
          log_prob += std::log(random(before)[1]);
        }
      }
      CHECK(one.log_prob == doctest::Approx(log_prob).epsilon(1e-10));
    }
  }
}

TEST_CASE("beam_search: nothing but the empty hypothesis in no length") {
  for (const double alpha : {0.0, 1.0, -1.0}) {
    PrefixScorer scorer = by_prefix(kToyVocabulary, short_or_long);
    const Hypotheses found = beam_search(
        scorer, {.bos_id = 0, .eos_id = 1, .alpha = alpha, .max_length = 0})[0];
    REQUIRE(found.size() == 1);
    CHECK(found[0].tokens.empty());
    CHECK(found[0].score == 0);
    CHECK_FALSE(found[0].ended);
  }
}

TEST_CASE("beam_search: each sentence has a greatest length of its own") {
  const auto endless = [](const Ids&) { return std::vector<double>{0, 0, 1}; };
  PrefixScorer scorer = by_prefix(3, endless, 4);
  const auto found = beam_search(
      scorer,
      {.bos_id = 0, .eos_id = 1, .max_length = 7, .max_lengths = {3, 0, 9, 1}});
  REQUIRE(found.size() == 4);
  CHECK(found[0][0].tokens == Ids(3, 2));
  CHECK(found[1][0].tokens == Ids());
  CHECK(found[2][0].tokens == Ids(7, 2));
  CHECK(found[3][0].tokens == Ids(1, 2));
}

TEST_CASE("beam_search: where all tokens are banned a hypothesis is cut off") {
  BeamSearchOptions options{
      .bos_id = 0,
      .eos_id = 1,
      .beam_size = 3,
      .n_best = 3,
      .banned_ids = {0, 1, 2, 3, 4}};
  PrefixScorer scorer = by_prefix(kToyVocabulary, short_or_long);
  Hypotheses found = beam_search(scorer, options)[0];
  REQUIRE(found.size() == 1);
  CHECK(found[0].tokens.empty());
  CHECK_FALSE(found[0].ended);
  CHECK(found[0].score == 0);

  // "a" may come once, then only what is banned.
  options.banned_ids = {1, 3, 4};
  scorer = by_prefix(kToyVocabulary, short_or_long);
  found = beam_search(scorer, options)[0];
  REQUIRE(found.size() == 1);
  CHECK(found[0].tokens == Ids{2});
  CHECK_FALSE(found[0].ended);
  CHECK(found[0].log_prob == doctest::Approx(std::log(0.45)));

  // And the scorer itself may know no token.
  PrefixScorer none(2, 4, [](const Tensor& prefixes, const auto&) {
    return full({prefixes.size(0), 4}, -kInfinity);
  });
  for (const Hypotheses& one : beam_search(none, {.bos_id = 0, .eos_id = 1})) {
    REQUIRE(one.size() == 1);
    CHECK(one[0].score == 0);
  }
}

TEST_CASE("beam_search: scores that are no numbers are an error") {
  for (const double bad : {std::nan(""), kInfinity}) {
    PrefixScorer scorer(3, 4, [&](const Tensor& prefixes, const auto&) {
      Tensor scores = zeros({prefixes.size(0), 4});
      scores.select(1, 1).fill_(-100);
      if (prefixes.size(1) == 3) {
        scores[prefixes.size(0) / 2][3].fill_(bad);
      }
      return scores;
    });
    CHECK_THROWS_WITH_AS(
        beam_search(scorer, {.bos_id = 0, .eos_id = 1}),
        "beam_search: scores must be numbers below +inf, got NaN or +inf for "
        "sentence 1 after 2 tokens",
        std::invalid_argument);
  }
}

TEST_CASE("beam_search: the scorer's scores are left as they were") {
  const Tensor scores = zeros({1, 4});
  PrefixScorer scorer(1, 4, [&](const Tensor& prefixes, const auto&) {
    return scores.expand({prefixes.size(0), 4});
  });
  beam_search(
      scorer,
      {.bos_id = 0, .eos_id = 1, .max_length = 3, .banned_ids = {2, 1}});
  CHECK(scores.to_vector<float>() == std::vector<float>(4, 0));
}

TEST_CASE("beam_search: with caches as without, beams sharing the source") {
  for (const DType dtype : {kFloat32, kFloat64}) {
    const double tolerance = dtype == kFloat32 ? 1e-4 : 1e-9;
    Transformer model(11, 11, small(dtype));
    sharpen(model);
    model.eval();
    const Tensor src = sentences(6, 11);
    PrefixScorer uncached(
        6, 11, [&](const Tensor& prefixes, const std::vector<int64_t>& of_row) {
          const NoGradGuard no_grad;
          const Tensor sources = index_select(
              src,
              0,
              from_vector(of_row, {static_cast<int64_t>(of_row.size())}));
          return model(sources, prefixes).value().select(1, -1);
        });
    const BeamSearchOptions options{
        .beam_size = 4, .n_best = 4, .max_length = 12, .banned_ids = {0}};
    const auto expected = beam_search(uncached, options);
    const auto found = beam_search(model, src, options);
    REQUIRE(found.size() == 6);
    for (size_t i = 0; i < found.size(); ++i) {
      check_same(found[i], expected[i], tolerance);
      check_sorted_and_distinct(found[i]);
    }
  }
}

TEST_CASE("beam_search: hypotheses score what the model gives them") {
  Transformer model(11, 11, small());
  sharpen(model);
  model.eval();
  const Tensor src = sentences(7, 11);
  const double alpha = 0.7;
  const auto found = beam_search(
      model,
      src,
      {.beam_size = 5, .n_best = 5, .alpha = alpha, .max_length = 9});
  bool some_end = false;
  bool some_do_not = false;
  for (int64_t b = 0; b < 7; ++b) {
    for (const Hypothesis& one : found[static_cast<size_t>(b)]) {
      Ids tokens = one.tokens;
      if (one.ended) {
        tokens.push_back(2);
      }
      some_end |= one.ended;
      some_do_not |= !one.ended;
      Ids tgt = {1};
      tgt.insert(tgt.end(), tokens.begin(), tokens.end() - 1);
      const auto length = static_cast<int64_t>(tgt.size());
      const Tensor log_probs = log_softmax(
          model(src.slice(0, b, b + 1), from_vector(tgt, {1, length})).value(),
          -1);
      double log_prob = 0;
      for (int64_t t = 0; t < length; ++t) {
        log_prob +=
            log_probs[0][t][tokens[static_cast<size_t>(t)]].item<double>();
      }
      CHECK(one.log_prob == doctest::Approx(log_prob).epsilon(1e-9));
      CHECK(
          one.score ==
          doctest::Approx(log_prob / std::pow((5.0 + length) / 6, alpha))
              .epsilon(1e-9));
    }
  }
  CHECK(some_end);
  CHECK(some_do_not);
}

TEST_CASE("beam_search: a beam of one is greedy decoding") {
  Transformer model(11, 11, small());
  sharpen(model);
  const Tensor src = sentences(20, 11);
  const auto greedy = greedy_decode(model, src, {.max_length = 14});
  for (const double alpha : {0.0, 1.0}) {
    const auto found = beam_search(
        model, src, {.beam_size = 1, .alpha = alpha, .max_length = 14});
    for (size_t i = 0; i < 20; ++i) {
      CHECK(found[i][0].tokens == greedy[i]);
    }
  }
}

TEST_CASE("beam_search: neighbours, their order and padding do not matter") {
  Transformer model(11, 11, small(kFloat32));
  sharpen(model);
  const Tensor src = sentences(20, 11);
  for (const int64_t beam_size : {1, 4}) {
    const BeamSearchOptions options{
        .beam_size = beam_size, .n_best = beam_size, .max_length = 15};
    std::vector<Hypotheses> alone;
    for (int64_t b = 0; b < 20; ++b) {
      const Tensor one = src.slice(0, b, b + 1).slice(1, 0, 2 + b % 7);
      alone.push_back(beam_search(model, one, options)[0]);
    }
    for (const int64_t size : {3, 8, 20}) {
      for (const bool reversed : {false, true}) {
        Ids order(20);
        for (int64_t i = 0; i < 20; ++i) {
          order[static_cast<size_t>(i)] = reversed ? 19 - i : i;
        }
        const Tensor sorted = index_select(src, 0, from_vector(order, {20}));
        for (int64_t first = 0; first < 20; first += size) {
          const auto found =
              beam_search(model, sorted.slice(0, first, first + size), options);
          for (size_t i = 0; i < found.size(); ++i) {
            const auto b =
                static_cast<size_t>(order[static_cast<size_t>(first) + i]);
            check_same(found[i], alone[b], 1e-4);
          }
        }
      }
    }
  }
}

TEST_CASE("beam_search: the first is the same whatever n_best") {
  Transformer model(11, 11, small());
  sharpen(model);
  const Tensor src = sentences(12, 11);
  const auto all =
      beam_search(model, src, {.beam_size = 6, .n_best = 6, .max_length = 15});
  for (const int64_t n_best : {1, 2, 4}) {
    const auto found = beam_search(
        model, src, {.beam_size = 6, .n_best = n_best, .max_length = 15});
    for (size_t b = 0; b < 12; ++b) {
      const size_t count = std::min(all[b].size(), static_cast<size_t>(n_best));
      check_same(
          found[b],
          {all[b].begin(), all[b].begin() + static_cast<int64_t>(count)},
          1e-12);
    }
  }
}

TEST_CASE("beam_search: padding that is chosen after all is as in forward") {
  Transformer model(11, 11, small());
  model.state_dict().at("output_proj.bias")[0].fill_(3);
  model.eval();
  const Tensor src = sentences(3, 11);
  TransformerScorer scorer(model, src);
  const auto found =
      beam_search(scorer, {.beam_size = 3, .n_best = 3, .max_length = 6});
  bool pads = false;
  for (int64_t b = 0; b < 3; ++b) {
    for (const Hypothesis& one : found[static_cast<size_t>(b)]) {
      pads |= std::count(one.tokens.begin(), one.tokens.end(), 0) > 0;
      if (one.ended) {
        continue;
      }
      Ids tgt = {1};
      tgt.insert(tgt.end(), one.tokens.begin(), one.tokens.end() - 1);
      const auto length = static_cast<int64_t>(tgt.size());
      const Tensor log_probs = log_softmax(
          model(src.slice(0, b, b + 1), from_vector(tgt, {1, length})).value(),
          -1);
      double log_prob = 0;
      for (int64_t t = 0; t < length; ++t) {
        log_prob +=
            log_probs[0][t][one.tokens[static_cast<size_t>(t)]].item<double>();
      }
      CHECK(one.log_prob == doctest::Approx(log_prob).epsilon(1e-9));
    }
  }
  CHECK(pads);
}

TEST_CASE("beam_search: padding begins nothing and is never chosen") {
  Transformer model(11, 11, small());
  model.state_dict().at("output_proj.bias")[0].fill_(100);
  const Tensor src = sentences(3, 11);
  for (const auto& hypotheses : beam_search(model, src, {.max_length = 6})) {
    const Ids& tokens = hypotheses[0].tokens;
    CHECK(std::count(tokens.begin(), tokens.end(), 0) == 0);
  }
  for (const Ids& tokens : greedy_decode(model, src, {.max_length = 6})) {
    CHECK(std::count(tokens.begin(), tokens.end(), 0) == 0);
  }
  Generator generator(1);
  for (const Hypothesis& one :
       sample_decode(model, src, {.max_length = 6, .generator = generator})) {
    CHECK(std::count(one.tokens.begin(), one.tokens.end(), 0) == 0);
  }
  // Where padding ends a sequence it may.
  CHECK(beam_search(model, src, {.eos_id = 0})[0][0].ended);
  CHECK_THROWS_WITH_AS(
      beam_search(model, src, {.bos_id = 0}),
      "beam_search: bos_id must not be the model's pad_id, got 0 for both",
      std::invalid_argument);
  CHECK_THROWS_AS(
      greedy_decode(model, src, {.bos_id = 0}), std::invalid_argument);
  CHECK_THROWS_AS(
      sample_decode(model, src, {.bos_id = 0}), std::invalid_argument);
}

TEST_CASE("beam_search: no source, empty ones, and ones that are too long") {
  Transformer model(11, 11, small());
  const BeamSearchOptions options{.beam_size = 3, .max_length = 5};
  CHECK(beam_search(model, zeros({0, 5}, kInt64), options).empty());
  CHECK(beam_search(model, zeros({0, 0}, kInt64), options).empty());
  const auto none = beam_search(model, zeros({2, 0}, kInt64), options);
  const auto padding = beam_search(model, zeros({2, 3}, kInt64), options);
  check_same(none[0], none[1], 1e-12);
  check_same(none[0], padding[1], 1e-12);

  TransformerOptions learned = small();
  learned.learned_positions = 6;
  Transformer bounded(11, 11, learned);
  CHECK_THROWS_AS(
      beam_search(bounded, ones({1, 7}, kInt64), options),
      std::invalid_argument);
  // The target's positions end as well: hypotheses are cut off there.
  bounded.state_dict().at("output_proj.bias")[2].fill_(-1000);
  const auto cut = beam_search(bounded, ones({1, 6}, kInt64));
  CHECK(cut[0][0].tokens.size() == 6);
  CHECK_FALSE(cut[0][0].ended);
}

TEST_CASE("beam_search: no dropout, and the mode as before") {
  TransformerOptions options = small();
  options.dropout = 0.5;
  Transformer model(11, 11, options);
  const Tensor src = sentences(3, 11);
  const auto once = beam_search(model, src, {.max_length = 8});
  const auto again = beam_search(model, src, {.max_length = 8});
  for (size_t b = 0; b < 3; ++b) {
    check_same(once[b], again[b], 1e-12);
  }
  CHECK(model.is_training());
}

TEST_CASE("beam_search: bad options are refused before anything is computed") {
  Transformer model(11, 9, small());
  const Tensor src = sentences(2, 11);
  CHECK_THROWS_WITH_AS(
      beam_search(model, src, {.eos_id = 9}),
      "beam_search: eos_id must be in [0, 9), got 9",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      beam_search(model, src, {.banned_ids = {3, -1}}),
      "beam_search: banned_ids must be in [0, 9), got -1",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      beam_search(model, src, {.beam_size = 4, .n_best = 5}),
      "beam_search: n_best must be in [1, beam_size], got n_best = 5 and "
      "beam_size = 4",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      beam_search(model, src, {.max_lengths = {3, 4, 5}}),
      "beam_search: max_lengths must be none or one for each of 2 sentences, "
      "got 3",
      std::invalid_argument);
  const std::vector<BeamSearchOptions> bad = {
      {.bos_id = -1},
      {.beam_size = 0},
      {.n_best = 0},
      {.alpha = kInfinity},
      {.alpha = std::nan("")},
      {.min_length = -1},
      {.min_length = 5, .max_length = 4},
      {.max_length = -1},
      {.max_lengths = {3, -4}}};
  for (const BeamSearchOptions& options : bad) {
    CHECK_THROWS_AS(beam_search(model, src, options), std::invalid_argument);
  }
  CHECK_THROWS_AS(beam_search(model, src[0]), std::invalid_argument);
  CHECK_THROWS_AS(beam_search(model, Tensor()), std::invalid_argument);
  PrefixScorer misshapen(1, 4, [](const Tensor&, const auto&) {
    return zeros({1, 3});
  });
  CHECK_THROWS_WITH_AS(
      beam_search(misshapen),
      "beam_search: scores must be floating and have shape [rows, vocab_size] "
      "= [1, 4], got float32 [1, 3]",
      std::invalid_argument);
}
