#include "tensor/attention_mask.h"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

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
