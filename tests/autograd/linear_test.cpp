#include "autograd/linear.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

#include "autograd/elementwise.h"
#include "autograd/gradcheck.h"
#include "autograd/reduction.h"
#include "tensor/creation.h"

using namespace heed;

namespace {

using Numbers = std::vector<double>;

Variable leaf(const Shape& shape, int64_t seed = 1) {
  Tensor x(shape, kFloat64);
  double* v = x.mutable_data<double>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    v[i] = static_cast<double>((i + seed) * 7919 % 1009) / 1009 - 0.5;
  }
  return Variable(x, true);
}

Numbers grad_of(const Variable& x) {
  return x.grad().value().to_vector<double>();
}

}  // namespace

TEST_CASE("linear: dx = dy weight, dweight = dy^T x, dbias = sum of rows") {
  const Variable x(tensor({{1., 2.}, {3., 4.}}), true);
  const Variable weight(tensor({{5., 6.}, {7., 8.}, {9., 10.}}), true);
  const Variable bias(tensor({0., 0., 0.}), true);
  linear(x, weight, bias).backward(tensor({{1., 0., 2.}, {0., 1., 0.}}));
  CHECK(grad_of(x) == Numbers{23, 26, 7, 8});
  CHECK(grad_of(weight) == Numbers{1, 2, 3, 4, 2, 4});
  CHECK(grad_of(bias) == Numbers{1, 1, 2});
}

TEST_CASE("linear: passes gradcheck for any rank of x, with or without bias") {
  for (const Shape& shape :
       {Shape{4}, Shape{1, 4}, Shape{3, 4}, Shape{2, 3, 4}, Shape{0, 4}}) {
    CAPTURE(shape);
    const auto with_bias = [](const std::vector<Variable>& in) {
      return linear(in[0], in[1], in[2]);
    };
    const auto without = [](const std::vector<Variable>& in) {
      return linear(in[0], in[1]);
    };
    const Variable x = leaf(shape);
    const Variable weight = leaf({3, 4}, 5);
    const Variable bias = leaf({3}, 9);
    for (const auto& report :
         {gradcheck(with_bias, {x, weight, bias}),
          gradgradcheck(with_bias, {x, weight, bias}),
          gradcheck(without, {x, weight}),
          gradgradcheck(without, {x, weight})}) {
      CHECK_MESSAGE(report.ok, report.message);
    }
  }
}

TEST_CASE("linear: an empty batch gives zero weight gradients, not NaN") {
  const Variable x = leaf({0, 4});
  const Variable weight = leaf({3, 4});
  const Variable bias = leaf({3});
  const Variable y = linear(x, weight, bias);
  CHECK(y.shape() == Shape{0, 3});
  y.backward(Tensor({0, 3}, kFloat64));
  CHECK(grad_of(weight) == Numbers(12, 0.0));
  CHECK(grad_of(bias) == Numbers(3, 0.0));
}

TEST_CASE("linear: a weight changed before backward is noticed") {
  const Variable x = leaf({2, 4});
  const Variable weight = leaf({3, 4});
  const Variable y = linear(x, weight);
  Tensor(weight.value()).mul_(2);
  CHECK_THROWS_AS(y.backward(ones({2, 3}, kFloat64)), std::logic_error);
}

TEST_CASE("linear: the gradients of a weight used twice add up in place") {
  const Variable x = leaf({4, 2, 3});
  const Variable z = leaf({5, 3}, 2);
  const Variable weight = leaf({6, 3}, 3);
  const Variable dy = leaf({4, 2, 6}, 4).detach();
  const Variable dz = leaf({5, 6}, 5).detach();
  Numbers want;
  linear(x, weight).backward(dy);
  want = grad_of(weight);
  weight.set_grad(Variable());
  linear(z, weight).backward(dz);
  for (size_t i = 0; i < want.size(); ++i) {
    want[i] += grad_of(weight)[i];
  }
  weight.set_grad(Variable());
  (sum(linear(x, weight) * dy) + sum(linear(z, weight) * dz)).backward();
  const Numbers got = grad_of(weight);
  for (size_t i = 0; i < want.size(); ++i) {
    CHECK(got[i] == doctest::Approx(want[i]).epsilon(1e-14));
  }
}

TEST_CASE("linear: the gradients of an input used twice add up in place") {
  const auto check = [](const Shape& shape) {
    CAPTURE(shape);
    const Variable x = leaf(shape);
    const Variable v = leaf({6, 3}, 2);
    const Variable w = leaf({6, 3}, 3);
    const Variable dy =
        leaf(linear(x.value(), v.value(), Tensor()).shape(), 4).detach();
    linear(x, v + w).backward(dy);
    const Numbers want = grad_of(x);
    x.zero_grad();
    (linear(x, v) + linear(x, w)).backward(dy);
    for (size_t i = 0; i < want.size(); ++i) {
      CHECK(grad_of(x)[i] == doctest::Approx(want[i]).epsilon(1e-13));
    }
  };
  check({3});
  check({4, 3});
  check({2, 4, 3});
}
