#include "autograd/joining.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

#include "autograd/elementwise.h"
#include "autograd/gradcheck.h"
#include "tensor/creation.h"

using namespace heed;

namespace {

using Numbers = std::vector<double>;

Variable leaf(const Shape& shape) {
  return Variable(
      arange(shape.numel()).to(kFloat64).reshape(shape).div_(7), true);
}

Numbers grad_of(const Variable& x) {
  return x.grad().value().to_vector<double>();
}

}  // namespace

TEST_CASE("cat: each input gets its part of the gradient") {
  const Variable a = leaf({2, 1});
  const Variable b = leaf({2, 2});
  const Tensor constant = zeros({2, 1}, kFloat64);
  const Variable y = cat({a, Variable(constant), b, a}, -1);
  y.backward(arange(10).to(kFloat64).reshape({2, 5}));
  CHECK(grad_of(a) == Numbers{0 + 4, 5 + 9});
  CHECK(grad_of(b) == Numbers{2, 3, 7, 8});
}

TEST_CASE("stack: input i gets the gradient at index i") {
  const Variable a = leaf({2});
  const Variable b = leaf({2});
  const Variable y = stack({a, b}, -1);
  CHECK(y.value().to_vector<double>()[3] == b.value()[1].item<double>());
  y.backward(arange(4).to(kFloat64).reshape({2, 2}));
  CHECK(grad_of(a) == Numbers{0, 2});
  CHECK(grad_of(b) == Numbers{1, 3});
}

TEST_CASE("split and chunk: parts lead back to where they came from") {
  const Variable x = leaf({5});
  split(x, 2)[2].backward(ones({1}, kFloat64));
  CHECK(grad_of(x) == Numbers{0, 0, 0, 0, 1});
  split(x, {1, 4})[1].backward(ones({4}, kFloat64));
  CHECK(grad_of(x) == Numbers{0, 1, 1, 1, 2});
  chunk(x, 2)[0].backward(ones({3}, kFloat64));
  CHECK(grad_of(x) == Numbers{1, 2, 2, 1, 2});
  CHECK_THROWS_AS(split(x, {1, 1}), std::invalid_argument);
  CHECK_THROWS_AS(chunk(x, 0), std::invalid_argument);
}

TEST_CASE("joining: passes gradcheck, first and second order") {
  const auto joined = [](const std::vector<Variable>& in) {
    const Variable y = cat({in[0], in[1].transpose(0, 1), in[0]}, 1);
    const Variable z = stack({y, y * y}, 1);
    return cat(chunk(z, 3, -1), 0) * cat(split(z, 3, -1), 0);
  };
  const std::vector<Variable> inputs = {leaf({2, 3}), leaf({3, 2})};
  const GradcheckReport first = gradcheck(joined, inputs);
  CHECK_MESSAGE(first.ok, first.message);
  const GradcheckReport second = gradgradcheck(joined, inputs);
  CHECK_MESSAGE(second.ok, second.message);
}

TEST_CASE("cat: empty inputs and undefined ones") {
  const Variable a = leaf({0, 2});
  const Variable b = leaf({1, 2});
  cat({a, b}).backward(ones({1, 2}, kFloat64));
  CHECK(a.grad().shape() == Shape{0, 2});
  CHECK(grad_of(b) == Numbers{1, 1});
  CHECK_THROWS_AS(cat({b, Variable()}), std::invalid_argument);
  CHECK_THROWS_AS(stack(std::vector<Variable>{}), std::invalid_argument);
}
