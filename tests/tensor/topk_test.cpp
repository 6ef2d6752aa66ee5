#include "tensor/topk.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/elementwise.h"
#include "tensor/indexing.h"
#include "tensor/random.h"

using namespace heed;

TEST_CASE("topk: the best in order, along any dimension") {
  Generator generator(1);
  const Tensor x = randn({6, 9, 5}, kFloat32, generator);
  for (const Tensor& layout : {x, x.transpose(0, 2), x.slice(1, 0, 8, 2)}) {
    for (int64_t d = -3; d < 3; ++d) {
      for (const bool largest : {true, false}) {
        const int64_t k = std::min<int64_t>(3, layout.size(d));
        const TopK best = topk(layout, k, d, largest);
        CHECK(best.values.size(d) == k);
        CHECK(equal(gather(layout, d, best.indices), best.values));
        std::vector<float> line = layout.transpose(d, -1)
                                      .select(0, 1)
                                      .select(0, 2)
                                      .to_vector<float>();
        std::sort(line.begin(), line.end());
        if (largest) {
          std::reverse(line.begin(), line.end());
        }
        line.resize(k);
        CHECK(
            best.values.transpose(d, -1)
                .select(0, 1)
                .select(0, 2)
                .to_vector<float>() == line);
      }
    }
  }
}

TEST_CASE("topk: of equal elements the lower index first, NaN is largest") {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = tensor({1.f, 3.f, kNaN, 3.f, kNaN, 0.f});
  CHECK(equal(topk(x, 6).indices, tensor({2, 4, 1, 3, 0, 5})));
  CHECK(equal(topk(x, 6, 0, false).indices, tensor({5, 0, 1, 3, 2, 4})));
  CHECK(equal(topk(tensor({2, 7, 7}), 2).values, tensor({7, 7})));
}

TEST_CASE("topk: few of many are those that sorting finds") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  Generator generator(3);
  const auto check = [](const Tensor& x) {
    const std::vector<double> values = x.to_vector<double>();
    const auto n = static_cast<int64_t>(values.size());
    for (const bool largest : {true, false}) {
      std::vector<int64_t> order(values.size());
      std::iota(order.begin(), order.end(), int64_t{0});
      std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
        const double a = values[static_cast<size_t>(largest ? i : j)];
        const double b = values[static_cast<size_t>(largest ? j : i)];
        return a > b || (std::isnan(a) && !std::isnan(b));
      });
      for (const int64_t k : {1, 2, 5, 16, 64, 65}) {
        if (k <= n) {
          const TopK best = topk(x, k, -1, largest);
          CHECK(
              best.indices.to_vector<int64_t>() ==
              std::vector<int64_t>(order.begin(), order.begin() + k));
          // NaN is no equal of itself, so by their bits.
          const Tensor expected = gather(x, 0, best.indices);
          CHECK(equal(
              masked_fill(best.values, ne(best.values, best.values), 7),
              masked_fill(expected, ne(expected, expected), 7)));
        }
      }
    }
  };
  for (const int64_t n : {4, 20, 255, 256, 257, 1000}) {
    for (const DType dtype : {kFloat32, kFloat64}) {
      check(randn({n}, dtype, generator));
    }
    check(randint(-5, 5, {n}, kInt64, generator));  // many are equal
    check(arange(n, kFloat32));
    check(arange(n, kFloat32).mul_(-1));
    check(full({n}, -kInfinity));
    check(full({n}, kNaN));
    Tensor mixed = randint(-3, 3, {n}, kInt64, generator).to(kFloat32);
    mixed.masked_fill_(eq(mixed, 2), kNaN);
    mixed.masked_fill_(eq(mixed, 1), kInfinity);
    mixed.masked_fill_(eq(mixed, -3), -kInfinity);
    check(mixed);
  }
}

TEST_CASE("topk: nothing, all, and a single number") {
  CHECK(topk(zeros({2, 3}), 0).values.shape() == Shape{2, 0});
  CHECK(topk(zeros({0, 3}), 2).values.shape() == Shape{0, 2});
  CHECK(topk(zeros({2, 0}), 0).indices.shape() == Shape{2, 0});
  CHECK(topk(tensor(3.0), 1).values.item<float>() == 3);
  CHECK(topk(tensor(3.0), 1).indices.shape() == Shape{});
}

TEST_CASE("topk: bad arguments are refused") {
  CHECK_THROWS_WITH_AS(
      topk(zeros({2, 3}), 4),
      "topk: k must be in [0, 3], got 4",
      std::invalid_argument);
  CHECK_THROWS_AS(topk(zeros({2, 3}), -1), std::invalid_argument);
  CHECK_THROWS_AS(topk(zeros({2, 3}), 1, 2), std::invalid_argument);
  CHECK_THROWS_AS(topk(zeros({3}, kBool), 1), std::invalid_argument);
}
