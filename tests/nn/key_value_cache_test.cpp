#include "nn/key_value_cache.h"

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

TEST_CASE("KeyValueCache: holds all that was appended, in order") {
  Generator generator(1);
  KeyValueCache cache;
  CHECK(cache.length() == 0);
  CHECK_FALSE(cache.key().defined());
  CHECK_FALSE(cache.value().defined());
  std::vector<Tensor> keys, values;
  for (const int64_t t : {2, 1, 1, 13, 0, 5, 1, 40}) {
    keys.push_back(randn({2, 3, t, 4}, kFloat32, generator));
    values.push_back(randn({2, 3, t, 4}, kFloat32, generator));
    cache.append(keys.back(), values.back());
    CHECK(equal(cache.key(), cat(keys, 2)));
    CHECK(equal(cache.value(), cat(values, 2)));
  }
  CHECK(cache.length() == 63);
}

TEST_CASE("KeyValueCache: starts from a strided or an empty tensor") {
  Generator generator(1);
  const Tensor strided =
      randn({2, 5, 3, 4}, kFloat32, generator).transpose(1, 2);
  KeyValueCache cache;
  cache.append(strided, strided);
  CHECK(equal(cache.key(), strided));
  KeyValueCache empty;
  empty.append(ones({2, 3, 0, 4}), ones({2, 3, 0, 4}));
  CHECK(empty.length() == 0);
  CHECK(empty.key().shape() == Shape({2, 3, 0, 4}));
  empty.append(strided, strided);
  CHECK(equal(empty.value(), strided));
  KeyValueCache none;
  none.append(ones({0, 3, 1, 4}), ones({0, 3, 1, 4}));
  none.append(ones({0, 3, 1, 4}), ones({0, 3, 1, 4}));
  CHECK(none.key().shape() == Shape({0, 3, 2, 4}));
}

TEST_CASE("KeyValueCache: an append costs amortised room, not a copy each") {
  KeyValueCache cache;
  const Tensor one = ones({1, 1, 1, 2});
  int64_t moves = 0;
  Tensor before;
  for (int i = 0; i < 1000; ++i) {
    cache.append(one, one);
    moves += !before.defined() || !cache.key().shares_storage(before);
    before = cache.key();
  }
  CHECK(moves <= 10);
}

TEST_CASE("KeyValueCache: a copy goes its own way") {
  KeyValueCache first;
  for (int i = 0; i < 3; ++i) {
    first.append(full({1, 1, 1, 2}, i), full({1, 1, 1, 2}, -i));
  }
  KeyValueCache second = first;
  KeyValueCache third;
  third = first;
  first.append(full({1, 1, 1, 2}, 10), full({1, 1, 1, 2}, 10));
  second.append(full({1, 1, 1, 2}, 20), full({1, 1, 1, 2}, 20));
  CHECK(equal(first.key()[0][0].select(1, 0), tensor({0., 1., 2., 10.})));
  CHECK(equal(second.key()[0][0].select(1, 0), tensor({0., 1., 2., 20.})));
  CHECK(equal(second.value()[0][0].select(1, 0), tensor({0., -1., -2., 20.})));
  CHECK(third.length() == 3);
  const KeyValueCache fourth = std::move(second);
  CHECK(fourth.length() == 4);
}

TEST_CASE("KeyValueCache: what does not fit is an error and changes nothing") {
  KeyValueCache cache;
  const Tensor x = ones({2, 3, 1, 4});
  CHECK_THROWS_WITH_AS(
      cache.append(x, ones({2, 3, 2, 4})),
      "KeyValueCache: key and value must both have shape [B, num_heads, t, "
      "head_dim] and agree with earlier ones, got [2, 3, 1, 4] and [2, 3, 2, "
      "4]",
      std::invalid_argument);
  CHECK_THROWS_AS(cache.append(x[0], x[0]), std::invalid_argument);
  CHECK_THROWS_AS(cache.append(x, x.to(kFloat64)), std::invalid_argument);
  CHECK_THROWS_AS(cache.append(Tensor(), x), std::invalid_argument);
  CHECK_THROWS_AS(cache.append(x, Tensor()), std::invalid_argument);
  CHECK(cache.length() == 0);
  cache.append(x, x);
  for (const Tensor& other :
       {ones({1, 3, 1, 4}),
        ones({2, 2, 1, 4}),
        ones({2, 3, 1, 5}),
        ones({2, 3, 1, 4}, kFloat64)}) {
    CHECK_THROWS_AS(cache.append(other, other), std::invalid_argument);
  }
  CHECK(cache.length() == 1);
  CHECK(equal(cache.key(), x));
}

TEST_CASE("KeyValueCache: select_rows picks sequences in any order") {
  const std::vector<std::vector<int64_t>> selections = {
      {0, 1, 2, 3},              // all stay
      {0, 0, 2, 3},              // one copied over another
      {3, 1},                    // the last one moves up
      {1, 0, 3, 2},              // a swap, impossible in place
      {2, 3, 0, 1, 1, 3, 0, 2},  // more than there were
      {2},
      {}};
  for (const std::vector<int64_t>& rows : selections) {
    for (const int64_t length : {1, 3, 20}) {
      Generator generator(1);
      const Tensor keys = randn({4, 3, length, 5}, kFloat32, generator);
      const Tensor values = randn({4, 3, length, 5}, kFloat32, generator);
      KeyValueCache cache;
      for (int64_t t = 0; t < length; ++t) {
        cache.append(keys.slice(2, t, t + 1), values.slice(2, t, t + 1));
      }
      const KeyValueCache copy = cache;
      KeyValueCache alone = cache;
      alone.append(keys.slice(2, 0, 1), values.slice(2, 0, 1));
      const Tensor ids = from_vector(rows, {static_cast<int64_t>(rows.size())});
      cache.select_rows(rows);
      CHECK(cache.length() == length);
      CHECK(cache.batch() == static_cast<int64_t>(rows.size()));
      CHECK(equal(cache.key(), index_select(keys, 0, ids)));
      CHECK(equal(cache.value(), index_select(values, 0, ids)));
      // Copies keep what they have.
      CHECK(equal(copy.key(), keys));
      CHECK(equal(copy.value(), values));
      // With storage of its own, which may be written to in place.
      alone.select_rows(rows);
      CHECK(equal(
          alone.key(),
          index_select(cat({keys, keys.slice(2, 0, 1)}, 2), 0, ids)));
      // And it goes on from there.
      const Tensor more = randn(
          {static_cast<int64_t>(rows.size()), 3, 2, 5}, kFloat32, generator);
      cache.append(more, more);
      CHECK(equal(cache.key(), cat({index_select(keys, 0, ids), more}, 2)));
    }
  }
}

TEST_CASE("KeyValueCache: select_rows leaves what others share") {
  const Tensor keys = arange(24, kFloat32).reshape({2, 3, 2, 2});
  const Tensor before = keys.clone();
  KeyValueCache cache;
  cache.append(keys, keys);
  cache.select_rows({1, 1});
  CHECK(equal(keys, before));
  CHECK(equal(cache.value()[0], before[1]));
  CHECK(equal(cache.key()[1], before[1]));
}

TEST_CASE("KeyValueCache: rows that are not there are refused") {
  KeyValueCache cache;
  cache.select_rows({7});  // nothing there yet
  cache.append(ones({2, 1, 1, 1}), ones({2, 1, 1, 1}));
  CHECK_THROWS_WITH_AS(
      cache.select_rows({0, 2}),
      "KeyValueCache: rows must be in [0, 2), got 2",
      std::invalid_argument);
  CHECK_THROWS_AS(cache.select_rows({-1}), std::invalid_argument);
  CHECK(cache.batch() == 2);
}
