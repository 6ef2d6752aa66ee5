#include "examples/translate/batches.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <stdexcept>

using namespace translate;

namespace {

// Pairs of many lengths; the first id tells which one.
std::vector<Pair> pairs_of_all_lengths(int64_t count) {
  std::vector<Pair> pairs;
  for (int64_t i = 0; i < count; ++i) {
    Ids src(static_cast<size_t>(i * 7 % 11), 5);
    src.insert(src.begin(), 10 + i);
    src.push_back(kEosId);
    Ids tgt(static_cast<size_t>(i * 5 % 13), 6);
    tgt.insert(tgt.begin(), kBosId);
    tgt.push_back(kEosId);
    pairs.push_back({src, tgt});
  }
  return pairs;
}

}  // namespace

TEST_CASE("make_batch: targets run one step ahead; padding is not counted") {
  const std::vector<Pair> pairs = {
      {{7, kEosId}, {kBosId, 8, 9, kEosId}},
      {{5, 6, kEosId}, {kBosId, kEosId}}};
  const Batch batch = make_batch(pairs, {0, 1});
  CHECK(batch.src.to_vector<int64_t>() == Ids{7, kEosId, 0, 5, 6, kEosId});
  CHECK(batch.tgt.to_vector<int64_t>() == Ids{kBosId, 8, 9, kBosId, 0, 0});
  CHECK(batch.targets.to_vector<int64_t>() == Ids{8, 9, kEosId, kEosId, 0, 0});
  CHECK(batch.tokens == 4);
}

TEST_CASE("by_length: batches keep within their tokens and miss no pair") {
  const std::vector<Pair> pairs = pairs_of_all_lengths(200);
  std::vector<size_t> order(pairs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::set<size_t> seen;
  for (const auto& batch : by_length(pairs, order, 40)) {
    size_t longest = 0;
    for (size_t i : batch) {
      longest =
          std::max({longest, pairs[i].src.size(), pairs[i].tgt.size() - 1});
      CHECK(seen.insert(i).second);
    }
    CHECK(longest * batch.size() <= 40);
  }
  CHECK(seen.size() == pairs.size());
}

TEST_CASE("by_length: a pair longer than a batch gets one of its own") {
  const std::vector<Pair> pairs = pairs_of_all_lengths(3);
  CHECK(by_length(pairs, {0, 1, 2}, 1).size() == 3);
}

TEST_CASE("Batches: each epoch has every pair once, in an order of its own") {
  const std::vector<Pair> pairs = pairs_of_all_lengths(100);
  Batches batches(pairs, 60, 1);
  std::vector<Ids> orders;
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    Ids order;
    const int64_t count = batches.batches_per_epoch();
    for (int64_t i = 0; i < count; ++i) {
      const heed::Tensor src = batches.next().src;
      for (int64_t row = 0; row < src.size(0); ++row) {
        order.push_back(src[row][0].item<int64_t>());
      }
      CHECK(batches.epoch() == epoch);
    }
    orders.push_back(order);
  }
  CHECK(orders[0] != orders[1]);
  std::sort(orders[0].begin(), orders[0].end());
  std::sort(orders[1].begin(), orders[1].end());
  CHECK(orders[0] == orders[1]);
  CHECK(orders[0].size() == pairs.size());
}

TEST_CASE("Batches: from epoch and position it goes on as before") {
  const std::vector<Pair> pairs = pairs_of_all_lengths(50);
  Batches one(pairs, 60, 7);
  for (int64_t i = 0; i < one.batches_per_epoch() + 3; ++i) {
    one.next();
  }
  Batches other(pairs, 60, 7);
  other.go_to(one.epoch(), one.position());
  for (int64_t i = 0; i < 2 * one.batches_per_epoch(); ++i) {
    CHECK(
        one.next().src.to_vector<int64_t>() ==
        other.next().src.to_vector<int64_t>());
  }
}

TEST_CASE("Batches: places that do not exist are refused") {
  const std::vector<Pair> pairs = pairs_of_all_lengths(5);
  Batches batches(pairs, 60, 7);
  CHECK_THROWS_AS(batches.go_to(-1, 0), std::invalid_argument);
  CHECK_THROWS_AS(batches.go_to(0, 1'000), std::invalid_argument);
  const std::vector<Pair> none;
  CHECK_THROWS_AS(Batches(none, 60, 7), std::invalid_argument);
}
