#include "autograd/variable.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "autograd/elementwise.h"
#include "autograd/node.h"
#include "tensor/creation.h"

using namespace heed;

TEST_CASE("Variable: a tensor converts to a constant") {
  const Variable x = ones({2, 3});
  CHECK(x.is_leaf());
  CHECK_FALSE(x.requires_grad());
  CHECK(x.shape() == Shape({2, 3}));
  CHECK((x * 2).is_leaf());
  CHECK((x * 2).op_name() == nullptr);
}

TEST_CASE("Variable: what comes from a leaf that requires a gradient does so") {
  const Variable x(ones({2}), true);
  const Variable y = x * Variable(ones({2}));
  CHECK(y.requires_grad());
  CHECK_FALSE(y.is_leaf());
  CHECK(std::string(y.op_name()) == "mul");
}

TEST_CASE("Variable: only floating leaves can require a gradient") {
  CHECK_THROWS_WITH_AS(
      Variable(zeros({2}, kInt64), true),
      "Variable: only float32 and float64 can require a gradient, got int64",
      std::invalid_argument);
  Variable ids(zeros({2}, kInt64));
  CHECK_THROWS_AS(ids.set_requires_grad(true), std::invalid_argument);
  Variable x(ones({2}));
  CHECK(x.set_requires_grad(true).requires_grad());
  Variable y = x * 2;
  CHECK_THROWS_AS(y.set_requires_grad(false), std::logic_error);
}

TEST_CASE("Variable: an empty handle says so") {
  const Variable x;
  CHECK_FALSE(x.defined());
  CHECK_THROWS_WITH_AS(
      x.value(),
      "value: the variable must be defined (a grad() is once backward has "
      "reached it), got an empty handle",
      std::invalid_argument);
  CHECK_THROWS_AS(x * x, std::invalid_argument);
  CHECK_THROWS_AS(Variable{Tensor()}, std::invalid_argument);
}

TEST_CASE("Variable: detach gives the same numbers without history") {
  const Variable x(ones({2}), true);
  const Variable y = x * 2;
  const Variable z = y.detach();
  CHECK(z.is_leaf());
  CHECK_FALSE(z.requires_grad());
  CHECK(z.value().shares_storage(y.value()));
}

TEST_CASE("Variable: copies are handles to one node") {
  const int64_t nodes = live_nodes();
  {
    const Variable x(ones({2}), true);
    Variable copy = x;
    CHECK(copy.node() == x.node());
    CHECK(live_nodes() == nodes + 1);
    copy = Variable();
    CHECK(x.defined());
  }
  CHECK(live_nodes() == nodes);
}

TEST_CASE("Variable: set_grad wants the variable's shape and dtype") {
  const Variable x(ones({2}), true);
  x.set_grad(Variable(full({2}, 4.0)));
  CHECK(x.grad().value().to_vector<float>() == std::vector<float>{4, 4});
  CHECK_THROWS_AS(x.set_grad(Variable(ones({3}))), std::invalid_argument);
  CHECK_THROWS_AS(
      x.set_grad(Variable(ones({2}, kFloat64))), std::invalid_argument);
}

TEST_CASE("set_grad: a variable is not its own gradient, which would leak it") {
  const int64_t nodes = live_nodes();
  {
    const Variable x(ones({2}), true);
    CHECK_THROWS_AS(x.set_grad(x), std::invalid_argument);
    x.set_grad(x.detach());
  }
  CHECK(live_nodes() == nodes);
}
