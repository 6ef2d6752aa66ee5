#include "tensor/attention_mask.h"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "tensor/comparison.h"
#include "tensor/creation.h"

using namespace heed;

namespace {

const Shape kScores = {2, 4, 3, 5};

AttentionMask made(const AttentionMaskOptions& options) {
  return make_attention_mask("test", options, kScores, kFloat32);
}

Tensor hidden(const AttentionMaskOptions& options) {
  return hidden_scores(made(options), kScores);
}

}  // namespace

TEST_CASE("attention mask: causal lets the last query see every key") {
  CHECK(equal(causal_mask(2, 2), tensor({{false, true}, {false, false}})));
  CHECK(equal(
      causal_mask(2, 4),
      tensor({{false, false, false, true}, {false, false, false, false}})));
  // The first of three queries over two keys sees none.
  CHECK(equal(
      causal_mask(3, 2),
      tensor({{true, true}, {false, true}, {false, false}})));
  CHECK(causal_mask(0, 3).shape() == Shape({0, 3}));
  CHECK(causal_mask(3, 0).shape() == Shape({3, 0}));
}

TEST_CASE("attention mask: nothing asked for, nothing to apply") {
  const AttentionMask none = made({});
  CHECK_FALSE(none.padding.defined());
  CHECK_FALSE(none.hidden.defined());
  CHECK_FALSE(none.added.defined());
  CHECK_FALSE(none.is_causal);
  CHECK_FALSE(hidden({}).defined());
}

TEST_CASE("attention mask: all that hides can be merged, floats are not") {
  Tensor padding = zeros({2, 5}, kBool);
  padding.select(1, 4).fill_(1);
  Tensor own = zeros({3, 5}, kBool);
  own.select(1, 0).fill_(1);
  const AttentionMaskOptions all{
      .key_padding_mask = padding, .attn_mask = own, .is_causal = true};
  const Tensor expected = logical_or(
      logical_or(causal_mask(3, 5), own), padding.unsqueeze(1).unsqueeze(1));
  CHECK(equal(hidden(all), expected));
  CHECK(equal(made(all).padding, padding));
  CHECK(equal(made(all).hidden, own));
  CHECK(made(all).is_causal);
  CHECK_FALSE(made(all).added.defined());
  const Tensor floats = full({3, 5}, -1.5);
  const AttentionMask added = made({.attn_mask = floats});
  CHECK_FALSE(added.hidden.defined());
  CHECK(equal(added.added, floats));
  CHECK_FALSE(hidden({.attn_mask = floats}).defined());
}

TEST_CASE("attention mask: padding as 0 and -inf equals padding as bool") {
  Tensor bools = zeros({2, 5}, kBool);
  bools.select(1, 2).fill_(1);
  for (const DType dtype : {kFloat32, kFloat64}) {
    const Tensor floats = zeros({2, 5}, dtype).masked_fill_(bools, -INFINITY);
    CHECK(equal(
        hidden({.key_padding_mask = floats}),
        hidden({.key_padding_mask = bools})));
  }
}

TEST_CASE("attention mask: padding as other numbers is an error") {
  CHECK_THROWS_WITH_AS(
      made({.key_padding_mask = ones({2, 5})}),
      "test: a float key_padding_mask must hold 0 (keep) and -inf (ignore) "
      "only, got other values; use a bool mask, true = padding",
      std::invalid_argument);
  CHECK_THROWS_AS(
      made({.key_padding_mask = full({2, 5}, NAN)}), std::invalid_argument);
  CHECK_THROWS_AS(
      made({.key_padding_mask = full({2, 5}, INFINITY)}),
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      made({.key_padding_mask = zeros({2, 5}, kInt64)}),
      "test: key_padding_mask must have dtype bool (true = padding) or be 0 / "
      "-inf, got int64",
      std::invalid_argument);
}

TEST_CASE("attention mask: packed queries see the keys of their sequence") {
  Tensor padding = zeros({2, 3}, kBool);
  padding[1].slice(0, 1, 3).fill_(1);
  Tensor query_padding = zeros({2, 2}, kBool);
  query_padding[0][1].fill_(1);
  const Packing queries(query_padding);
  const Packing keys(padding);
  const auto masks = [&](bool is_causal) {
    return make_attention_mask(
        "test",
        {.is_causal = is_causal, .query_packing = queries, .key_packing = keys},
        {1, 4, 3, 4},
        kFloat32);
  };
  const AttentionMask mask = masks(false);
  CHECK(mask.padded_scores({1, 4, 3, 4}) == Shape({2, 4, 2, 3}));
  CHECK(AttentionMask{}.padded_scores(kScores) == kScores);
  CHECK(equal(
      hidden_scores(mask, {1, 4, 3, 4}).squeeze(1),
      tensor(
          {{{false, false, false}, {true, true, true}},
           {{false, true, true}, {false, true, true}}})));
  // The last query of each sees all of its keys.
  CHECK(equal(
      hidden_scores(masks(true), {1, 4, 3, 4}).squeeze(1),
      tensor(
          {{{false, false, false}, {true, true, true}},
           {{true, true, true}, {false, true, true}}})));
}

TEST_CASE("attention mask: packings that do not fit are errors") {
  const auto refuses = [](const AttentionMaskOptions& options,
                          const std::string& message) {
    CHECK_THROWS_WITH_AS(
        make_attention_mask("test", options, {1, 4, 6, 6}, kFloat32),
        message.c_str(),
        std::invalid_argument);
  };
  const Packing packing(2, 3);
  refuses(
      {.query_packing = packing},
      "test: query_packing and key_packing must be given together, got the "
      "first alone");
  refuses(
      {.key_packing = packing},
      "test: query_packing and key_packing must be given together, got the "
      "second alone");
  refuses(
      {.query_packing = packing, .key_packing = Packing(3, 2)},
      "test: query_packing and key_packing must be of as many sequences, got 2 "
      "and 3");
  refuses(
      {.query_packing = packing, .key_packing = Packing(2, 4)},
      "test: packed queries and keys must be one sequence of 6 and 8 tokens, "
      "got scores of shape [1, 4, 6, 6]");
  refuses(
      {.key_padding_mask = zeros({2, 3}, kBool),
       .query_packing = packing,
       .key_packing = packing},
      "test: packed sequences must come without other masks than is_causal");
  refuses(
      {.attn_mask = zeros({6, 6}),
       .query_packing = packing,
       .key_packing = packing},
      "test: packed sequences must come without other masks than is_causal");
}

TEST_CASE("attention mask: a wrong shape or dtype is named with what it is") {
  CHECK_THROWS_WITH_AS(
      made({.key_padding_mask = zeros({2, 3}, kBool)}),
      "test: key_padding_mask must have shape [B, S] = [2, 5], got [2, 3]",
      std::invalid_argument);
  CHECK_THROWS_AS(
      made({.key_padding_mask = zeros({1, 5}, kBool)}), std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      made({.attn_mask = zeros({5, 3}, kBool)}),
      "test: attn_mask must broadcast to [B, num_heads, T, S] = [2, 4, 3, 5], "
      "got [5, 3]",
      std::invalid_argument);
  CHECK_THROWS_AS(
      made({.attn_mask = zeros({1, 2, 4, 3, 5}, kBool)}),
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      made({.attn_mask = zeros({3, 5}, kFloat64)}),
      "test: attn_mask must have dtype bool (true = hidden) or float32 (added "
      "to the scores), got float64",
      std::invalid_argument);
  CHECK_THROWS_AS(
      made({.attn_mask = zeros({3, 5}, kInt64)}), std::invalid_argument);
}
