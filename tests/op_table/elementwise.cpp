#include "autograd/elementwise.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "autograd/activation.h"
#include "tests/op_table.h"

namespace heed::op_table {
namespace {

const std::vector<Shapes> kOne = {{{2, 3}}, {{}}, {{1}}, {{0, 3}}};
const std::vector<Shapes> kTwo = {
    {{2, 3}, {2, 3}},
    {{2, 3}, {3}},
    {{2, 1}, {1, 3}},
    {{}, {2}},
    {{1, 1}, {}},
    {{3}, {2, 1, 1}},
    {{0, 3}, {3}},
    {{1, 3}, {0, 1}}};
// What broadcasts with a mask of shape [3], also to more than the inputs'.
const std::vector<Shapes> kOneBesideThree = {
    {{2, 3}}, {{3}}, {{2, 1}}, {{}}, {{0, 3}}};
const std::vector<Shapes> kTwoBesideThree = {
    {{2, 3}, {3}}, {{3}, {2, 1}}, {{}, {1}}, {{0, 1}, {3}}};

/// f(x) of each element.
template <typename F>
Row unary(const char* name, F f, double (*reference)(double)) {
  return row(
      name, [f](const auto& in) { return f(in[0]); }, each(reference), kOne);
}

/// f(a, b) of each pair, broadcast.
template <typename F>
Row binary(const char* name, F f, double (*reference)(double, double)) {
  return row(
             name,
             [f](const auto& in) { return f(in[0], in[1]); },
             each(reference),
             kTwo)
      .refuses({{{2, 3}, {4}}, {{2, 3}, {3, 2}}});
}

/// f(mask, a, b) of each element; mask({3}) is true in the first column.
Reference by_mask(double (*f)(bool, double, double)) {
  return [f](const Arrays& in) -> Arrays {
    const Array& a = in.front();
    const Array& b = in.back();
    const Shape shape = broadcast_shapes(
        "by_mask", broadcast_shapes("by_mask", a.shape, b.shape), Shape{3});
    return {build(shape, [&](const Index& i) {
      return f(i.back() == 0, broadcast_at(a, i), broadcast_at(b, i));
    })};
  };
}

double gelu_by_erf(double x) {
  return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
}

double gelu_by_tanh(double x) {
  const double scale = std::sqrt(2 / std::numbers::pi);
  return 0.5 * x * (1 + std::tanh(scale * (x + 0.044715 * x * x * x)));
}

}  // namespace

Rows elementwise_rows() {
  return {
      binary(
          "operator+(Variable, Variable)",
          [](auto& a, auto& b) { return a + b; },
          [](double a, double b) { return a + b; })
          .as("add")
          .integers(),
      unary(
          "operator+(Variable, Scalar)",
          [](auto& x) { return x + 3; },
          [](double x) { return x + 3; })
          .as("add")
          .integers(),
      unary(
          "operator+(Scalar, Variable)",
          [](auto& x) { return 3 + x; },
          [](double x) { return 3 + x; })
          .as("add")
          .integers(),
      binary(
          "operator-(Variable, Variable)",
          [](auto& a, auto& b) { return a - b; },
          [](double a, double b) { return a - b; })
          .as("sub")
          .integers(),
      unary(
          "operator-(Variable, Scalar)",
          [](auto& x) { return x - 3; },
          [](double x) { return x - 3; })
          .as("sub")
          .integers(),
      unary(
          "operator-(Scalar, Variable)",
          [](auto& x) { return 3 - x; },
          [](double x) { return 3 - x; })
          .as("sub")
          .integers(),
      binary(
          "operator*(Variable, Variable)",
          [](auto& a, auto& b) { return a * b; },
          [](double a, double b) { return a * b; })
          .as("mul")
          .integers(),
      unary(
          "operator*(Variable, Scalar)",
          [](auto& x) { return x * 3; },
          [](double x) { return x * 3; })
          .as("mul")
          .integers(),
      unary(
          "operator*(Scalar, Variable)",
          [](auto& x) { return 3 * x; },
          [](double x) { return 3 * x; })
          .as("mul")
          .integers(),
      binary(
          "operator/(Variable, Variable)",
          [](auto& a, auto& b) { return a / b; },
          [](double a, double b) { return a / b; })
          .as("div"),
      unary(
          "operator/(Variable, Scalar)",
          [](auto& x) { return x / 2.5; },
          [](double x) { return x / 2.5; })
          .as("div"),
      unary(
          "operator/(Scalar, Variable)",
          [](auto& x) { return 2.5 / x; },
          [](double x) { return 2.5 / x; })
          .as("div"),
      unary(
          "operator-(Variable)",
          [](auto& x) { return -x; },
          [](double x) { return -x; })
          .as("neg")
          .integers(),
      unary(
          "neg(Variable)",
          [](auto& x) { return neg(x); },
          [](double x) { return -x; })
          .integers(),
      unary(
          "abs(Variable)",
          [](auto& x) { return abs(x); },
          [](double x) { return std::abs(x); })
          .integers(),
      binary(
          "pow(Variable, Variable)",
          [](auto& a, auto& b) { return pow(a, b); },
          [](double a, double b) { return std::pow(a, b); })
          .positive(),
      unary(
          "pow(Variable, Scalar) square",
          [](auto& x) { return pow(x, 2); },
          [](double x) { return x * x; }),
      unary(
          "pow(Variable, Scalar) cube",
          [](auto& x) { return pow(x, 3); },
          [](double x) { return x * x * x; }),
      unary(
          "pow(Variable, Scalar) inverse",
          [](auto& x) { return pow(x, -1); },
          [](double x) { return 1 / x; }),
      unary(
          "pow(Variable, Scalar) negative integer",
          [](auto& x) { return pow(x, -3); },
          [](double x) { return 1 / (x * x * x); }),
      unary(
          "pow(Variable, Scalar) fraction",
          [](auto& x) { return pow(x, 1.7); },
          [](double x) { return std::pow(x, 1.7); })
          .positive(),
      unary(
          "pow(Variable, Scalar) root",
          [](auto& x) { return pow(x, 0.5); },
          [](double x) { return std::sqrt(x); })
          .positive(),
      unary(
          "pow(Variable, Scalar) one",
          [](auto& x) { return pow(x, 1); },
          [](double x) { return x; }),
      unary(
          "pow(Scalar, Variable) of zero",
          [](auto& x) { return pow(0, x); },
          [](double) { return 0.0; })
          .positive(),
      unary(
          "pow(Scalar, Variable)",
          [](auto& x) { return pow(2.5, x); },
          [](double x) { return std::pow(2.5, x); }),
      unary(
          "exp(Variable)",
          [](auto& x) { return exp(x); },
          [](double x) { return std::exp(x); }),
      unary(
          "log(Variable)",
          [](auto& x) { return log(x); },
          [](double x) { return std::log(x); })
          .positive(),
      unary(
          "log1p(Variable)",
          [](auto& x) { return log1p(x); },
          [](double x) { return std::log1p(x); })
          .positive(),
      unary(
          "sqrt(Variable)",
          [](auto& x) { return sqrt(x); },
          [](double x) { return std::sqrt(x); })
          .positive(),
      unary(
          "rsqrt(Variable)",
          [](auto& x) { return rsqrt(x); },
          [](double x) { return 1 / std::sqrt(x); })
          .positive(),
      unary(
          "sin(Variable)",
          [](auto& x) { return sin(x); },
          [](double x) { return std::sin(x); }),
      unary(
          "cos(Variable)",
          [](auto& x) { return cos(x); },
          [](double x) { return std::cos(x); }),
      unary(
          "tanh(Variable)",
          [](auto& x) { return tanh(x); },
          [](double x) { return std::tanh(x); }),
      unary(
          "sigmoid(Variable)",
          [](auto& x) { return sigmoid(x); },
          [](double x) { return 1 / (1 + std::exp(-x)); }),
      unary(
          "relu(Variable)",
          [](auto& x) { return relu(x); },
          [](double x) { return x > 0 ? x : 0.0; })
          .integers(),
      unary(
          "silu(Variable)",
          [](auto& x) { return silu(x); },
          [](double x) { return x / (1 + std::exp(-x)); }),
      unary(
          "normal_cdf(Variable)",
          [](auto& x) { return normal_cdf(x); },
          [](double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }),
      unary(
          "gelu(Variable, GeluApproximation) none",
          [](auto& x) { return gelu(x); },
          [](double x) { return gelu_by_erf(x); }),
      unary(
          "gelu(Variable, GeluApproximation) tanh",
          [](auto& x) { return gelu(x, GeluApproximation::tanh); },
          [](double x) { return gelu_by_tanh(x); }),
      binary(
          "maximum(Variable, Variable)",
          [](auto& a, auto& b) { return maximum(a, b); },
          [](double a, double b) { return std::max(a, b); })
          .integers(),
      unary(
          "maximum(Variable, Scalar)",
          [](auto& x) { return maximum(x, 1); },
          [](double x) { return std::max(x, 1.0); })
          .integers(),
      unary(
          "maximum(Scalar, Variable)",
          [](auto& x) { return maximum(-1, x); },
          [](double x) { return std::max(-1.0, x); })
          .integers(),
      binary(
          "minimum(Variable, Variable)",
          [](auto& a, auto& b) { return minimum(a, b); },
          [](double a, double b) { return std::min(a, b); })
          .integers(),
      unary(
          "minimum(Variable, Scalar)",
          [](auto& x) { return minimum(x, 1); },
          [](double x) { return std::min(x, 1.0); })
          .integers(),
      unary(
          "minimum(Scalar, Variable)",
          [](auto& x) { return minimum(-1, x); },
          [](double x) { return std::min(-1.0, x); })
          .integers(),
      unary(
          "clamp(Variable, Scalar, Scalar)",
          [](auto& x) { return clamp(x, -1, 1); },
          [](double x) { return std::clamp(x, -1.0, 1.0); })
          .integers(),
      row(
          "where(Tensor, Variable, Variable)",
          [](auto& in) { return where(mask({3}), in[0], in[1]); },
          by_mask([](bool on, double a, double b) { return on ? a : b; }),
          kTwoBesideThree)
          .refuses({{{2, 3}, {2}}})
          .integers(),
      row(
          "where(Tensor, Variable, Scalar)",
          [](auto& in) { return where(mask({3}), in[0], 2); },
          by_mask([](bool on, double x, double) { return on ? x : 2.0; }),
          kOneBesideThree)
          .integers(),
      row(
          "where(Tensor, Scalar, Variable)",
          [](auto& in) { return where(mask({3}), 2, in[0]); },
          by_mask([](bool on, double x, double) { return on ? 2.0 : x; }),
          kOneBesideThree)
          .integers(),
      row(
          "masked_fill(Variable, Tensor, Scalar)",
          [](auto& in) { return masked_fill(in[0], mask({3}), -7); },
          by_mask([](bool on, double x, double) { return on ? -7.0 : x; }),
          kOneBesideThree)
          .integers(),
  };
}

}  // namespace heed::op_table
