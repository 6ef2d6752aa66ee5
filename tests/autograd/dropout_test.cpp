#include "autograd/dropout.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

#include "autograd/elementwise.h"
#include "autograd/gradcheck.h"
#include "tensor/creation.h"

using namespace heed;

TEST_CASE("dropout: the gradient passes where the value did, scaled alike") {
  Generator generator(11);
  const Variable x(ones({20, 30}), true);
  const Variable y = dropout(x, 0.5, generator);
  generator.set_seed(99);  // what is drawn meanwhile does not matter
  y.backward(ones({20, 30}));
  CHECK(x.grad().value().to_vector<float>() == y.value().to_vector<float>());
}

TEST_CASE("dropout: p = 0 is the variable itself, p = 1 stops all gradient") {
  Generator generator(11);
  const Variable x(full({4}, 3.0), true);
  CHECK(dropout(x, 0, generator).node() == x.node());
  const Variable y = dropout(x, 1, generator);
  CHECK(y.value().to_vector<double>() == std::vector<double>(4, 0.0));
  y.backward(ones({4}));
  CHECK(x.grad().value().to_vector<double>() == std::vector<double>(4, 0.0));
  CHECK_THROWS_AS(dropout(x, -0.1, generator), std::invalid_argument);
  CHECK_THROWS_AS(dropout(x, 1.5, generator), std::invalid_argument);
}

TEST_CASE(
    "dropout: passes gradcheck with a given mask, first and second order") {
  const auto dropped = [](const std::vector<Variable>& in) {
    return dropout(in[0] * in[0], 0.4, GeneratorState{5, 2});
  };
  const Variable x(
      arange(12).to(kFloat64).reshape({4, 3}).transpose(0, 1).div_(7), true);
  CHECK(gradcheck(dropped, {x}).ok);
  CHECK(gradgradcheck(dropped, {x}).ok);
}
