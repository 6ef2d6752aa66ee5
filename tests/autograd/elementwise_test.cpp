#include "autograd/elementwise.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>

#include "tensor/comparison.h"
#include "tensor/creation.h"

using namespace heed;

namespace {

const double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

Variable leaf(const Tensor& value) { return Variable(value, true); }

using Function = std::function<Variable(const std::vector<Variable>&)>;

// The gradients of f's inputs for a gradient dy of its result.
std::vector<Tensor> gradients(
    const Function& f, const std::vector<Tensor>& inputs, const Tensor& dy) {
  std::vector<Variable> leaves;
  for (const Tensor& x : inputs) {
    leaves.push_back(leaf(x));
  }
  std::vector<Tensor> values;
  for (const Variable& dx :
       grad({f(leaves)}, leaves, {.grad_outputs = {Variable(dy)}})) {
    values.push_back(dx.value());
  }
  return values;
}

// Fixed numbers without a pattern, in (0.5, 1.5).
Tensor uneven(const Shape& shape) {
  return sin(arange(shape.numel(), kFloat64) * 12.9898).reshape(shape) * 0.5 +
         1;
}

// dL/dx of L = the product sum of f and dy, by central differences.
Tensor numeric(
    const Function& f,
    const std::vector<Tensor>& inputs,
    size_t which,
    const Tensor& dy) {
  const auto loss = [&](double h, int64_t at) {
    std::vector<Variable> moved;
    for (size_t i = 0; i < inputs.size(); ++i) {
      Tensor x = inputs[i].clone();
      if (i == which) {
        x.mutable_data<double>()[at] += h;
      }
      moved.emplace_back(x);
    }
    double sum = 0;
    for (double term : (f(moved).value() * dy).to_vector<double>()) {
      sum += term;
    }
    return sum;
  };
  Tensor dx(inputs[which].shape(), kFloat64);
  for (int64_t i = 0; i < dx.numel(); ++i) {
    dx.mutable_data<double>()[i] = (loss(1e-5, i) - loss(-1e-5, i)) / 2e-5;
  }
  return dx;
}

}  // namespace

TEST_CASE("broadcast gradients: of each operand's own shape and right value") {
  const std::pair<Shape, Shape> shapes[] = {
      {{1}, {5, 4}},
      {{4, 1}, {1, 4}},
      {{2, 1, 4, 3}, {2, 1, 4, 1}},
      {{2}, {}},
      {{}, {2, 3}},
      {{3}, {2, 3}},
      {{1}, {2, 1, 3}},
      {{2, 1, 3}, {4, 1}},
      {{1, 3, 1}, {2, 1, 2}}};
  const std::pair<std::string, Function> functions[] = {
      {"add", [](const auto& x) { return x[0] + x[1]; }},
      {"sub", [](const auto& x) { return x[0] - x[1]; }},
      {"mul", [](const auto& x) { return x[0] * x[1]; }},
      {"div", [](const auto& x) { return x[0] / x[1]; }},
      {"pow", [](const auto& x) { return pow(x[0], x[1]); }},
      {"maximum", [](const auto& x) { return maximum(x[0], x[1]); }},
      {"minimum", [](const auto& x) { return minimum(x[0], x[1]); }},
      {"where",
       [](const auto& x) { return where(x[0].value() > 1.003, x[0], x[1]); }}};
  for (const auto& [a_shape, b_shape] : shapes) {
    const Tensor a = uneven(a_shape);
    const Tensor b = uneven(b_shape) * 0.9 + 0.013;
    const Tensor dy = cos(uneven(broadcast_shapes("test", a_shape, b_shape)));
    for (const auto& op : functions) {
      const auto& f = op.second;
      CAPTURE(op.first);
      const std::vector<Tensor> dx = gradients(f, {a, b}, dy);
      CHECK(dx[0].shape() == a_shape);
      CHECK(dx[1].shape() == b_shape);
      CHECK(allclose(dx[0], numeric(f, {a, b}, 0, dy), 1e-7, 1e-8));
      CHECK(allclose(dx[1], numeric(f, {a, b}, 1, dy), 1e-7, 1e-8));
    }
  }
}

TEST_CASE("broadcast gradients: known values") {
  const auto mul = [](const auto& x) { return x[0] * x[1]; };
  const auto dx = gradients(mul, {tensor({2.}), ones({5, 4})}, ones({5, 4}));
  CHECK(equal(dx[0], tensor({20.})));
  CHECK(equal(dx[1], full({5, 4}, 2)));
  const auto outer = gradients(mul, {ones({4, 1}), ones({1, 4})}, ones({4, 4}));
  CHECK(equal(outer[0], full({4, 1}, 4)));
  CHECK(equal(outer[1], full({1, 4}, 4)));
  const auto mask = gradients(
      mul, {ones({2, 1, 4, 64}), ones({2, 1, 4, 1})}, ones({2, 1, 4, 64}));
  CHECK(equal(mask[1], full({2, 1, 4, 1}, 64)));
  const auto scalar = gradients(mul, {ones({2}), tensor(1.)}, ones({2}));
  CHECK(equal(scalar[1], tensor(2.)));
}

TEST_CASE("gradients with a number on either side") {
  const std::pair<std::string, Function> functions[] = {
      {"x + s", [](const auto& x) { return x[0] + 1.5; }},
      {"s + x", [](const auto& x) { return 1.5 + x[0]; }},
      {"x - s", [](const auto& x) { return x[0] - 1.5; }},
      {"s - x", [](const auto& x) { return 1.5 - x[0]; }},
      {"x * s", [](const auto& x) { return x[0] * 1.5; }},
      {"s * x", [](const auto& x) { return 1.5 * x[0]; }},
      {"x / s", [](const auto& x) { return x[0] / 1.5; }},
      {"s / x", [](const auto& x) { return 1.5 / x[0]; }},
      {"-x", [](const auto& x) { return -x[0]; }},
      {"x ^ 2", [](const auto& x) { return pow(x[0], 2); }},
      {"x ^ 3", [](const auto& x) { return pow(x[0], 3); }},
      {"x ^ 1", [](const auto& x) { return pow(x[0], 1); }},
      {"x ^ 0", [](const auto& x) { return pow(x[0], 0); }},
      {"x ^ -0.7", [](const auto& x) { return pow(x[0], -0.7); }},
      {"s ^ x", [](const auto& x) { return pow(1.7, x[0]); }},
      {"maximum", [](const auto& x) { return maximum(x[0], 0.9); }},
      {"minimum", [](const auto& x) { return minimum(0.9, x[0]); }},
      {"clamp", [](const auto& x) { return clamp(x[0], 0.8, 1.2); }},
      {"where",
       [](const auto& x) { return where(x[0].value() > 1.003, x[0], 3); }},
      {"abs", [](const auto& x) { return abs(x[0] - 1.001); }}};
  const Tensor x = uneven({3, 4}).transpose(0, 1);
  const Tensor dy = cos(uneven({4, 3}));
  for (const auto& op : functions) {
    const auto& f = op.second;
    CAPTURE(op.first);
    CHECK(
        allclose(gradients(f, {x}, dy)[0], numeric(f, {x}, 0, dy), 1e-7, 1e-8));
  }
}

TEST_CASE("gradients of a mixed product: a Tensor is a constant") {
  const Variable x = leaf(tensor({1., 2.}));
  const Tensor c = tensor({3., 4.});
  const Variable y = x * c + c * x;
  y.backward(Variable(tensor({1., 10.})));
  CHECK(equal(x.grad().value(), tensor({6., 80.})));
  CHECK_FALSE(Variable(c * c).requires_grad());
}

TEST_CASE("where: the side not chosen gets exactly 0") {
  const auto f = [](const auto& x) {
    return where(tensor({true, false}), x[0], x[1]);
  };
  for (double wild : {kInf, kNan}) {
    const auto dx = gradients(f, {ones({2}), ones({2})}, tensor({wild, wild}));
    CHECK(dx[0][1].item<double>() == 0);
    CHECK(dx[1][0].item<double>() == 0);
  }
}

TEST_CASE("where: masking the argument keeps NaN out of the other branch") {
  // sqrt(x) where x > 0, x elsewhere
  const auto f = [](const auto& x) {
    const Tensor positive = x[0].value() > 0;
    return where(positive, sqrt(where(positive, x[0], 1)), x[0]);
  };
  const Tensor x = tensor({-1., -4., 4.}, kFloat64);
  CHECK(equal(
      gradients(f, {x}, ones({3}, kFloat64))[0],
      tensor({1., 1., 0.25}, kFloat64)));
}

TEST_CASE("masked_fill: no gradient, infinite or not, under the mask") {
  const auto f = [](const auto& x) {
    return masked_fill(x[0], tensor({false, true}), -kInf);
  };
  const Tensor s = tensor({1., 2.});
  CHECK(equal(gradients(f, {s}, tensor({3., kInf}))[0], tensor({3., 0.})));
  CHECK(equal(gradients(f, {s}, tensor({3., kNan}))[0], tensor({3., 0.})));
  // A column under a mask of rows: summed over what is not masked.
  const auto rows = [](const auto& x) {
    return masked_fill(x[0], tensor({true, false, false}), 0);
  };
  CHECK(equal(
      gradients(rows, {ones({2, 1})}, tensor({{1., 2., 3.}, {4., 5., 6.}}))[0],
      tensor({{5.}, {11.}})));
}

TEST_CASE("kinks: abs has slope 0 at 0, clamp 1 at its ends") {
  const Tensor dy = tensor({1., 2., 4., 8., 16.});
  const Tensor x = tensor({-2., -1., 0., 1., 2.});
  CHECK(equal(
      gradients([](const auto& v) { return abs(v[0]); }, {x}, dy)[0],
      tensor({-1., -2., 0., 8., 16.})));
  CHECK(equal(
      gradients([](const auto& v) { return clamp(v[0], -1, 1); }, {x}, dy)[0],
      tensor({0., 2., 4., 8., 0.})));
}

TEST_CASE("maximum and minimum: ties share, NaN takes all, the sum is dy") {
  const Tensor a = tensor({1., 2., 3., kNan, 1., kNan});
  const Tensor b = tensor({2., 2., 1., 1., kNan, kNan});
  const Tensor dy = tensor({1., 2., 4., 8., 16., 32.});
  const auto most =
      gradients([](const auto& x) { return maximum(x[0], x[1]); }, {a, b}, dy);
  CHECK(equal(most[0], tensor({0., 1., 4., 8., 0., 16.})));
  CHECK(equal(most[1], tensor({1., 1., 0., 0., 16., 16.})));
  const auto least =
      gradients([](const auto& x) { return minimum(x[0], x[1]); }, {a, b}, dy);
  CHECK(equal(least[0], tensor({1., 1., 0., 8., 0., 16.})));
  CHECK(equal(least[1], tensor({0., 1., 4., 0., 16., 16.})));
}

TEST_CASE("pow: finite gradients at 0 where the limit is") {
  const Tensor zero = tensor({0., 0., 0.}, kFloat64);
  const Tensor y = tensor({0., 1., 2.}, kFloat64);
  const Tensor dy = tensor({3., 3., 3.}, kFloat64);
  const auto both =
      gradients([](const auto& x) { return pow(x[0], x[1]); }, {zero, y}, dy);
  CHECK(equal(both[0], tensor({0., 3., 0.}, kFloat64)));
  CHECK(equal(both[1], zero));
  const auto base =
      gradients([](const auto& x) { return pow(0, x[0]); }, {y}, dy);
  CHECK(equal(base[0], zero));
  for (int power : {0, 1, 2, 3}) {
    const auto dx = gradients(
        [power](const auto& x) { return pow(x[0], power); }, {zero}, dy);
    CHECK(equal(dx[0], power == 1 ? dy : zero));
  }
}

TEST_CASE("second derivatives: known values") {
  const auto second = [](const Function& f, double at) {
    const Variable x = leaf(tensor({at}, kFloat64));
    const Variable dy = leaf(tensor({2.}, kFloat64));
    const Variable dx =
        grad({f({x})}, {x}, {.grad_outputs = {dy}, .create_graph = true})[0];
    // d/dx (dy f'(x)) and d/d(dy) (dy f'(x))
    const auto found = grad(
        {dx},
        {x, dy},
        {.grad_outputs = {Variable(tensor({3.}, kFloat64))},
         .allow_unused = true});
    const double f2 = found[0].defined() ? found[0].item<double>() : 0;
    return std::pair(f2 / 6, found[1].item<double>() / 3);
  };
  const auto check = [&](const Function& f, double at, double f1, double f2) {
    const auto [curvature, slope] = second(f, at);
    CHECK(curvature == doctest::Approx(f2).epsilon(1e-12));
    CHECK(slope == doctest::Approx(f1).epsilon(1e-12));
  };
  const double x = 0.7;
  check([](const auto& v) { return exp(v[0]); }, x, std::exp(x), std::exp(x));
  check([](const auto& v) { return log(v[0]); }, x, 1 / x, -1 / (x * x));
  check(
      [](const auto& v) { return log1p(v[0]); },
      x,
      1 / (1 + x),
      -1 / ((1 + x) * (1 + x)));
  check(
      [](const auto& v) { return sqrt(v[0]); },
      x,
      0.5 / std::sqrt(x),
      -0.25 * std::pow(x, -1.5));
  check(
      [](const auto& v) { return rsqrt(v[0]); },
      x,
      -0.5 * std::pow(x, -1.5),
      0.75 * std::pow(x, -2.5));
  check([](const auto& v) { return sin(v[0]); }, x, std::cos(x), -std::sin(x));
  check([](const auto& v) { return cos(v[0]); }, x, -std::sin(x), -std::cos(x));
  check([](const auto& v) { return pow(v[0], 2); }, x, 2 * x, 2);
  check([](const auto& v) { return v[0] * v[0]; }, x, 2 * x, 2);
  check(
      [](const auto& v) { return 1 / v[0]; }, x, -1 / (x * x), 2 / (x * x * x));
  check([](const auto& v) { return abs(v[0]); }, -x, -1, 0);
  check([](const auto& v) { return clamp(v[0], 0, 1); }, x, 1, 0);
  check([](const auto& v) { return maximum(v[0], 0.2); }, x, 1, 0);
  check([](const auto& v) { return minimum(v[0], 0.2); }, x, 0, 0);
}

TEST_CASE("elementwise: integer and mixed dtypes say so") {
  const Variable x = leaf(ones({2}));
  CHECK_THROWS_AS(x + Variable(ones({2}, kFloat64)), std::invalid_argument);
  CHECK_THROWS_AS(x * Variable(ones({3})), std::invalid_argument);
  CHECK_THROWS_AS(Variable() + x, std::invalid_argument);
  CHECK_THROWS_AS(exp(Variable()), std::invalid_argument);
  CHECK(equal((Variable(tensor({1, 2})) + 1).value(), tensor({2, 3})));
}

TEST_CASE("elementwise: a value overwritten before backward is named") {
  for (const Function& f :
       {Function([](const auto& x) { return x[0] * x[0]; }),
        Function([](const auto& x) { return sin(x[0]); }),
        Function([](const auto& x) { return log(x[0]); }),
        Function([](const auto& x) { return abs(x[0]); }),
        Function([](const auto& x) { return clamp(x[0], 0, 1); }),
        Function([](const auto& x) { return maximum(x[0], 0); })}) {
    const Variable x = leaf(ones({2}));
    const Variable y = f({x});
    Tensor value = x.value();
    value.add_(1);
    CHECK_THROWS_AS(y.backward(Variable(ones({2}))), std::logic_error);
  }
  const Variable x = leaf(ones({2}));
  const Variable y = exp(x);
  Tensor value = y.value();
  value.reshape({2, 1}).add_(1);
  CHECK_THROWS_AS(y.backward(Variable(ones({2}))), std::logic_error);
}
