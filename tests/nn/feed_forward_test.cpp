#include "nn/feed_forward.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "autograd/elementwise.h"
#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/random.h"

using namespace heed;

TEST_CASE("FeedForward: two layers with an activation between them") {
  FeedForward layer(2, 3, {.dtype = kFloat64});
  layer.load_state_dict(
      {{"linear1.weight", tensor({{1, 0}, {0, 1}, {1, 1}}, kFloat64)},
       {"linear1.bias", tensor({0, 0, -1}, kFloat64)},
       {"linear2.weight", tensor({{1, 2, 3}, {0, 1, -1}}, kFloat64)},
       {"linear2.bias", tensor({0.5, -0.5}, kFloat64)}});
  // hidden [1, -2, -2] -> [1, 0, 0], and [2, 1, 2]
  const Tensor x = tensor({{{1, -2}, {2, 1}}}, kFloat64);
  CHECK(
      equal(layer(x).value(), tensor({{{1.5, -0.5}, {10.5, -1.5}}}, kFloat64)));
}

TEST_CASE("FeedForward: dropout acts while training only") {
  FeedForward layer(8, 64, {.dropout = 0.5});
  const Tensor x = ones({4, 8});
  CHECK_FALSE(equal(layer(x).value(), layer(x).value()));
  layer.eval();
  CHECK(equal(layer(x).value(), layer(x).value()));
}

TEST_CASE("FeedForward: bias is an option, sizes must be positive") {
  CHECK(FeedForward(2, 3).num_parameters() == 17);
  CHECK(FeedForward(2, 3, {.bias = false}).num_parameters() == 12);
  CHECK_THROWS_AS(FeedForward(0, 3), std::invalid_argument);
  CHECK_THROWS_AS(FeedForward(2, 0), std::invalid_argument);
  CHECK_THROWS_AS(FeedForward(2, 3, {.dropout = 2}), std::invalid_argument);
}
