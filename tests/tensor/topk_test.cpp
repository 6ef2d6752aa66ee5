#include "tensor/topk.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "tensor/comparison.h"
#include "tensor/creation.h"
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
