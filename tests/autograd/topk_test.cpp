#include "autograd/topk.h"

#include <doctest/doctest.h>

#include "tensor/comparison.h"
#include "tensor/creation.h"

using namespace heed;

TEST_CASE("topk: the gradient goes to the elements chosen") {
  const Variable x(tensor({{1.0, 4.0, 2.0}, {7.0, 5.0, 6.0}}), true);
  const VariableTopK best = topk(x, 2);
  CHECK(equal(best.indices, tensor({{1, 2}, {0, 2}})));
  best.values.backward(tensor({{10.0, 20.0}, {30.0, 40.0}}));
  CHECK(
      equal(x.grad().value(), tensor({{0.0, 10.0, 20.0}, {30.0, 0.0, 40.0}})));
}

TEST_CASE("topk: of a single number") {
  const Variable x(tensor(2.0), true);
  topk(x, 1).values.backward(tensor(3.0));
  CHECK(x.grad().item<float>() == 3);
}
