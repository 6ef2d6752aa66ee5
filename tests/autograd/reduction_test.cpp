#include "autograd/reduction.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "autograd/elementwise.h"
#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/elementwise.h"
#include "tensor/random.h"

using namespace heed;

namespace {

using Function = std::function<Variable(const Variable&)>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Tensor gradient(const Function& f, const Tensor& x, const Tensor& dy) {
  const Variable leaf(x, true);
  f(leaf).backward(dy);
  return leaf.grad().value();
}

Tensor noise(const Shape& shape, uint64_t seed) {
  Generator generator(seed);
  return randn(shape, kFloat64, generator);
}

/// The gradient of dot(f(x), dy), against differences along a direction; and
/// that of the gradient itself, the same way.
void check_gradients(const Function& f, const Tensor& x) {
  const Tensor dy = noise(f(x).shape(), 11);
  const Tensor direction = noise(x.shape(), 12);
  const double h = 1e-5;
  const auto value = [&](const Tensor& at) {
    return sum(f(at).value() * dy).item<double>();
  };
  const auto slope = [&](const Variable& at) {
    const Variable dx =
        grad({f(at)}, {at}, {.grad_outputs = {dy}, .create_graph = true})[0];
    return sum(dx * Variable(direction));
  };
  const Variable leaf(x, true);
  const Variable first = slope(leaf);
  CHECK(
      first.item<double>() ==
      doctest::Approx(
          (value(x + direction * h) - value(x - direction * h)) / (2 * h))
          .epsilon(1e-6));
  if (first.requires_grad()) {
    const std::vector<Variable> second =
        grad({first}, {leaf}, {.grad_outputs = {}, .allow_unused = true});
    if (second[0].defined()) {
      const auto at = [&](double step) {
        return slope(Variable(x + direction * step, true)).item<double>();
      };
      CHECK(
          sum(second[0].value() * direction).item<double>() ==
          doctest::Approx((at(h) - at(-h)) / (2 * h)).epsilon(1e-5));
    }
  }
}

}  // namespace

TEST_CASE("reductions: gradients of first and second order") {
  const Tensor x = noise({3, 4, 5}, 1);
  for (const Dims& dims :
       {Dims{0}, Dims{1}, Dims{-1}, Dims{0, 2}, Dims{0, 1, 2}, Dims{}}) {
    for (const bool keepdim : {false, true}) {
      CAPTURE(dims);
      const auto check = [&](auto f) {
        check_gradients(
            [&](const Variable& v) { return f(v, dims, keepdim); }, x);
      };
      check([](auto... a) { return sum(a...); });
      check([](auto... a) { return mean(a...); });
      check([](auto... a) { return logsumexp(a...); });
      check([](auto... a) { return norm(a...); });
      check([](auto... a) { return max(a...); });
      check([](auto... a) { return min(a...); });
      if (!dims.empty()) {
        check_gradients(
            [&](const Variable& v) { return var(v, dims, 1, keepdim); }, x);
        check_gradients(
            [&](const Variable& v) { return var(v, dims, 0, keepdim); }, x);
      }
    }
  }
  for (const Function& f : std::vector<Function>{
           [](const Variable& v) { return sum(v); },
           [](const Variable& v) { return mean(v); },
           [](const Variable& v) { return var(v); },
           [](const Variable& v) { return logsumexp(v); },
           [](const Variable& v) { return norm(v); },
           [](const Variable& v) { return max(v); },
           [](const Variable& v) { return min(v); },
           [](const Variable& v) {
             return sum_to(v, {4, 1});
           }}) {
    check_gradients(f, x);
    check_gradients(f, noise({5, 4, 3}, 2).transpose(0, 2).slice(2, 0, 5, 2));
  }
}

TEST_CASE("mean: the gradient of several dimensions comes back in place") {
  const Tensor expected = tensor({{1.0}, {2.0}, {3.0}}).expand({2, 3, 4}) / 8;
  for (const Dims& dims : {Dims{0, 2}, Dims{-1, -3}}) {
    CHECK(equal(
        gradient(
            [&](const Variable& v) { return mean(v, dims); },
            ones({2, 3, 4}),
            tensor({1.0, 2.0, 3.0})),
        expected));
  }
  CHECK(allclose(
      gradient(
          [](const Variable& v) { return mean(v * v, 0); },
          ones({5}),
          ones({})),
      full({5}, 0.4)));
}

TEST_CASE("max and min: ties share the gradient, NaN takes it") {
  const auto top = [](const Variable& v) { return max(v); };
  const auto bottom = [](const Variable& v) { return min(v, 0); };
  CHECK(equal(
      gradient(top, tensor({0.6, 0.6, 0.3}), tensor(1.0)),
      tensor({0.5, 0.5, 0.0})));
  CHECK(equal(
      gradient(bottom, tensor({0.3, 0.6, 0.3}), tensor(4.0)),
      tensor({2.0, 0.0, 2.0})));
  CHECK(equal(
      gradient(top, tensor({1.0, kNaN, 3.0, kNaN}), tensor(1.0)),
      tensor({0.0, 0.5, 0.0, 0.5})));
  CHECK(equal(
      gradient(top, tensor({1.0, 2.0}), tensor(kInfinity)),
      tensor({0.0, kInfinity})));
}

TEST_CASE("norm and logsumexp: gradients where there is no slope") {
  CHECK(equal(
      gradient(
          [](const Variable& v) { return norm(v, 1); },
          tensor({{0.0, 0.0}, {3.0, 4.0}}),
          tensor({1.0, 1.0})),
      tensor({{0.0, 0.0}, {0.6, 0.8}})));
  CHECK(equal(
      gradient(
          [](const Variable& v) { return logsumexp(v, 1); },
          tensor({{-kInfinity, -kInfinity}, {-kInfinity, 2.0}}),
          tensor({1.0, 3.0})),
      tensor({{0.0, 0.0}, {0.0, 3.0}})));
}

TEST_CASE("reductions: gradients of empty tensors are empty") {
  for (const Function& f : std::vector<Function>{
           [](const Variable& v) { return sum(v, 1); },
           [](const Variable& v) { return mean(v, 1); },
           [](const Variable& v) { return var(v, 1); },
           [](const Variable& v) { return logsumexp(v, 1); },
           [](const Variable& v) { return norm(v, 1); }}) {
    CHECK(gradient(f, zeros({2, 0}), zeros({2})).shape() == Shape{2, 0});
  }
  CHECK(
      gradient(
          [](const Variable& v) { return max(v, 0); },
          zeros({2, 0}),
          zeros({0}))
          .shape() == Shape{2, 0});
}
