#include "nn/key_value_cache.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "tensor/comparison.h"
#include "tensor/creation.h"
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
