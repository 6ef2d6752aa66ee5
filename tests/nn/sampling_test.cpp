#include "nn/sampling.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "nn/greedy_decoding.h"
#include "nn/prefix_scorer.h"
#include "tensor/creation.h"
#include "tensor/indexing.h"
#include "tensor/random.h"
#include "tensor/softmax.h"

using namespace heed;

namespace {

using Ids = std::vector<int64_t>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Every token has the same scores, whatever came before.
PrefixScorer constant(const std::vector<double>& scores, int64_t sentences) {
  const auto n = static_cast<int64_t>(scores.size());
  return PrefixScorer(sentences, n, [=](const Tensor& prefixes, const auto&) {
    return from_vector(scores, {1, n}).expand({prefixes.size(0), n});
  });
}

std::vector<double> logs(std::vector<double> p) {
  for (double& v : p) {
    v = std::log(v);
  }
  return p;
}

/// How often each token is drawn, of so many sentences of one token.
std::vector<double> shares(
    const std::vector<double>& probabilities,
    double temperature,
    int64_t top_k,
    double top_p,
    const Ids& banned_ids = {},
    int64_t count = 20'000) {
  Generator generator(3);
  PrefixScorer scorer = constant(logs(probabilities), count);
  const auto drawn = sample_decode(
      scorer,
      {.bos_id = 0,
       .eos_id = 0,
       .temperature = temperature,
       .top_k = top_k,
       .top_p = top_p,
       .max_length = 1,
       .banned_ids = banned_ids,
       .generator = generator});
  std::vector<double> found(probabilities.size());
  for (const Hypothesis& one : drawn) {
    found[static_cast<size_t>(one.ended ? 0 : one.tokens[0])] += 1;
  }
  for (double& share : found) {
    share /= static_cast<double>(count);
  }
  return found;
}

/// Five standard deviations of a share of 20,000 draws at most.
void check_shares(
    const std::vector<double>& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const double p = expected[i];
    CHECK(std::abs(found[i] - p) <= 5 * std::sqrt(p * (1 - p) / 20'000));
  }
}

TransformerOptions small() {
  static Generator generator;
  generator.set_seed(1);
  return {
      .num_encoder_layers = 2,
      .num_decoder_layers = 2,
      .d_model = 16,
      .num_heads = 4,
      .d_ff = 32,
      .dtype = kFloat64,
      .generator = generator};
}

Tensor sentences(int64_t count, int64_t vocabulary) {
  Generator generator(5);
  Tensor ids = randint(3, vocabulary, {count, 8}, kInt64, generator);
  for (int64_t b = 0; b < count; ++b) {
    ids[b].slice(0, 2 + b % 7, 8).zero_();
  }
  return ids;
}

}  // namespace

TEST_CASE("sample_decode: tokens come as often as they are likely") {
  const std::vector<double> p = {0.1, 0.4, 0, 0.2, 0.3};
  check_shares(shares(p, 1, 0, 1), p);
  // p^(1 / temperature)
  const double sum = 0.01 + 0.16 + 0.04 + 0.09;
  check_shares(
      shares(p, 0.5, 0, 1),
      {0.01 / sum, 0.16 / sum, 0, 0.04 / sum, 0.09 / sum});
  check_shares(shares(p, 1e6, 0, 1), {0.25, 0.25, 0, 0.25, 0.25});
}

TEST_CASE("sample_decode: only among the likeliest") {
  const std::vector<double> p = {0.1, 0.4, 0, 0.2, 0.3};
  check_shares(shares(p, 1, 2, 1), {0, 4 / 7.0, 0, 0, 3 / 7.0});
  check_shares(shares(p, 1, 100, 1), p);
  check_shares(shares(p, 1, 1, 1), {0, 1, 0, 0, 0});
  // The fewest that reach 0.75: 0.4, 0.3 and 0.2.
  check_shares(shares(p, 1, 0, 0.75), {0, 4 / 9.0, 0, 2 / 9.0, 3 / 9.0});
  check_shares(shares(p, 1, 0, 0.39), {0, 1, 0, 0, 0});
  check_shares(shares(p, 1, 0, 1e-9), {0, 1, 0, 0, 0});
  // Of 0.4, 0.3, 0.2 the first two have 7/9.
  check_shares(shares(p, 1, 3, 0.75), {0, 4 / 7.0, 0, 0, 3 / 7.0});
  check_shares(shares(p, 1, 0, 1, {1, 2}), {1 / 6.0, 0, 0, 2 / 6.0, 3 / 6.0});
}

TEST_CASE("sample_decode: top_p among many tokens that are alike") {
  std::vector<double> p(1000, 0.5 / 800);
  for (size_t i = 0; i < 200; ++i) {
    p[5 * i] = 0.5 / 200;
  }
  const std::vector<double> found = shares(p, 1, 0, 0.5 - 1e-9, {}, 500);
  double in = 0;
  for (size_t i = 0; i < 200; ++i) {
    in += found[5 * i];
  }
  CHECK(in == doctest::Approx(1));
}

TEST_CASE("sample_decode: cold sampling is greedy decoding") {
  Transformer model(11, 11, small());
  const Tensor src = sentences(9, 11);
  const auto greedy = greedy_decode(model, src, {.max_length = 10});
  for (const SamplingOptions& options :
       {SamplingOptions{.temperature = 1e-300, .max_length = 10},
        SamplingOptions{.top_k = 1, .max_length = 10},
        SamplingOptions{.top_p = 1e-12, .max_length = 10}}) {
    const auto drawn = sample_decode(model, src, options);
    for (size_t i = 0; i < 9; ++i) {
      CHECK(drawn[i].tokens == greedy[i]);
    }
  }
}

TEST_CASE("sample_decode: the same seed, the same sequences") {
  Transformer model(11, 11, small());
  const Tensor src = sentences(9, 11);
  Generator generator(4);
  const SamplingOptions options{.max_length = 10, .generator = generator};
  const auto first = sample_decode(model, src, options);
  const auto second = sample_decode(model, src, options);
  generator.set_seed(4);
  const auto again = sample_decode(model, src, options);
  int changed = 0;
  for (size_t i = 0; i < 9; ++i) {
    CHECK(again[i].tokens == first[i].tokens);
    CHECK(again[i].score == doctest::Approx(first[i].score).epsilon(1e-12));
    changed += second[i].tokens != first[i].tokens;
  }
  CHECK(changed >= 8);
}

TEST_CASE("sample_decode: batches and neighbours do not matter") {
  Transformer model(11, 11, small());
  const Tensor src = sentences(20, 11);
  Generator generator(4);
  const SamplingOptions options{
      .temperature = 0.8,
      .top_p = 0.9,
      .max_length = 12,
      .generator = generator};
  const auto all = sample_decode(model, src, options);
  for (const int64_t size : {1, 3, 8}) {
    generator.set_seed(4);
    for (int64_t first = 0; first < 20; first += size) {
      const auto some =
          sample_decode(model, src.slice(0, first, first + size), options);
      for (size_t i = 0; i < some.size(); ++i) {
        const Hypothesis& one = all[static_cast<size_t>(first) + i];
        CHECK(some[i].tokens == one.tokens);
        CHECK(some[i].score == doctest::Approx(one.score).epsilon(1e-9));
      }
    }
  }
  // Sentence 5 with other neighbours.
  generator.set_seed(4);
  Tensor others = sentences(20, 11);
  others.slice(0, 0, 5).fill_(4);
  others.slice(0, 6, 20).fill_(7);
  CHECK(sample_decode(model, others, options)[5].tokens == all[5].tokens);
}

TEST_CASE("sample_decode: log_prob is the model's own") {
  Transformer model(11, 11, small());
  model.eval();
  const Tensor src = sentences(5, 11);
  const auto drawn = sample_decode(
      model, src, {.temperature = 0.5, .top_k = 4, .max_length = 8});
  for (int64_t b = 0; b < 5; ++b) {
    const Hypothesis& one = drawn[static_cast<size_t>(b)];
    Ids tokens = one.tokens;
    if (one.ended) {
      tokens.push_back(2);
    }
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
    CHECK(one.score == one.log_prob);
  }
}

TEST_CASE("sample_decode: lengths are kept, impossible tokens never drawn") {
  PrefixScorer scorer = constant(logs({0, 0.9, 0.1}), 50);
  for (const Hypothesis& one : sample_decode(
           scorer,
           {.bos_id = 0, .eos_id = 1, .min_length = 2, .max_length = 4})) {
    CHECK(one.tokens.size() >= 2);
    CHECK(one.tokens.size() <= 4);
    CHECK(one.tokens == Ids(one.tokens.size(), 2));
  }
  PrefixScorer none = constant(std::vector<double>(3, -kInfinity), 2);
  for (const double temperature : {1.0, 0.5}) {
    for (const double top_p : {1.0, 0.5}) {
      const auto drawn = sample_decode(
          none,
          {.bos_id = 0,
           .eos_id = 1,
           .temperature = temperature,
           .top_p = top_p});
      CHECK(drawn[1].tokens.empty());
      CHECK(drawn[1].score == 0);
    }
  }
  PrefixScorer nan = constant({0, std::nan(""), 1}, 2);
  CHECK_THROWS_AS(
      sample_decode(nan, {.bos_id = 0, .eos_id = 1}), std::invalid_argument);
}

TEST_CASE("sample_decode: bad options are refused and draw nothing") {
  Transformer model(11, 9, small());
  const Tensor src = sentences(2, 11);
  Generator generator(4);
  const GeneratorState before = generator.state();
  CHECK_THROWS_WITH_AS(
      sample_decode(model, src, {.temperature = 0, .generator = generator}),
      "sample_decode: temperature must be positive and finite, got 0",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      sample_decode(model, src, {.top_k = -1, .generator = generator}),
      "sample_decode: top_k must be >= 0, got -1",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      sample_decode(model, src, {.top_p = 0, .generator = generator}),
      "sample_decode: top_p must be in (0, 1], got 0",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      sample_decode(model, src, {.bos_id = 9, .generator = generator}),
      "sample_decode: bos_id must be in [0, 9), got 9",
      std::invalid_argument);
  CHECK_THROWS_AS(
      sample_decode(
          model, src, {.temperature = std::nan(""), .generator = generator}),
      std::invalid_argument);
  CHECK_THROWS_AS(
      sample_decode(model, src, {.max_lengths = {1}, .generator = generator}),
      std::invalid_argument);
  CHECK(generator.state() == before);
}
