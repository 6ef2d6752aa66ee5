#include "autograd/softmax.h"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/random.h"
#include "tensor/reduction.h"

using namespace heed;

namespace {

using Operation = Variable (*)(const Variable&, int64_t);

Tensor gradient(
    Operation op,
    const Tensor& x,
    int64_t dim,
    const Tensor& dy,
    bool create_graph = false) {
  const Variable leaf(x, true);
  return grad(
             {op(leaf, dim)},
             {leaf},
             {.grad_outputs = {dy}, .create_graph = create_graph})[0]
      .value();
}

void check_close(const Tensor& x, const Tensor& expected) {
  CHECK(allclose(x, expected, 1e-4, 1e-6));
}

}  // namespace

TEST_CASE("softmax and log_softmax: gradients worked out by hand") {
  check_close(
      gradient(log_softmax, tensor({0.1, 0.9}), 0, tensor({1.0, 1.0})),
      tensor({0.37995, -0.37995}));
  check_close(
      gradient(softmax, tensor({1.0, 2.0, 3.0}), 0, tensor({1.0, 0.0, 0.0})),
      tensor({0.081925, -0.022033, -0.059892}));
}

TEST_CASE("softmax: each line of the gradient sums to 0") {
  Generator generator(1);
  const Tensor x = randn({2, 3}, kFloat64, generator);
  const Tensor dy = randn({2, 3}, kFloat64, generator);
  for (const int64_t d : {0, 1}) {
    for (const Operation op : {Operation(softmax), Operation(log_softmax)}) {
      const Tensor dx = gradient(op, x, d, dy);
      CHECK(max(dx).item<double>() > 0.01);
      CHECK(allclose(sum(dx, d), zeros_like(sum(dx, d)), 0, 1e-12));
    }
  }
}

TEST_CASE("softmax: the fused backward agrees with the composed one") {
  Generator generator(2);
  const Tensor x = randn({3, 17, 4}, kFloat64, generator);
  const Tensor dy = randn({3, 17, 4}, kFloat64, generator);
  for (const int64_t d : {0, 1, 2}) {
    for (const Operation op : {Operation(softmax), Operation(log_softmax)}) {
      CHECK(allclose(
          gradient(op, x, d, dy), gradient(op, x, d, dy, true), 1e-12));
    }
  }
}

TEST_CASE("softmax: a fully masked row has zero gradient") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Tensor x = full({2, 3}, -kInfinity);
  for (const bool create_graph : {false, true}) {
    CHECK(equal(
        gradient(softmax, x, 1, full({2, 3}, 2), create_graph), zeros({2, 3})));
  }
}
