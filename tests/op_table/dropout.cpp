#include "autograd/dropout.h"

#include <algorithm>
#include <cmath>

#include "autograd/activation_dropout.h"
#include "tensor/creation.h"
#include "tests/op_table.h"

namespace heed::op_table {
namespace {

const GeneratorState kDraw = Generator(5).state();

/// x times what dropout makes of a 1 in its place.
Arrays dropout_reference(const Arrays& in) {
  const Array& x = in[0];
  const Tensor scale = dropout(ones(x.shape, kFloat64), 0.4, kDraw);
  const Array kept{x.shape, scale.to_vector<double>()};
  return {build(x.shape, [&](const Index& i) { return x(i) * kept(i); })};
}

/// dropout of f(x), of the same draw.
template <double (*f)(double)>
Arrays dropped(const Arrays& in) {
  return dropout_reference(
      {build(in[0].shape, [&](const Index& i) { return f(in[0](i)); })});
}

double relu_of(double x) { return std::max(x, 0.0); }
double gelu_of(double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }
double gelu_tanh_of(double x) {
  const double cubic = x + 0.044715 * x * x * x;
  return x / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * cubic));
}

}  // namespace

Rows dropout_rows() {
  const std::vector<Shapes> any = {{{3, 4}}, {{}}, {{2, 2, 2}}, {{0, 3}}};
  return {
      row(
          "dropout(Variable, double, Generator)",
          [](auto& in) {
            Generator generator(5);
            return dropout(in[0], 0.4, generator);
          },
          dropout_reference,
          any),
      row(
          "dropout(Variable, double, GeneratorState)",
          [](auto& in) { return dropout(in[0], 0.4, kDraw); },
          dropout_reference,
          any),
      row(
          "add_dropout(Variable, Variable, DropoutDraw)",
          [](auto& in) {
            return add_dropout(in[0], in[1], {0.4, kDraw});
          },
          [](const Arrays& in) -> Arrays {
            const Array branch = dropout_reference({in[1]})[0];
            return {build(in[0].shape, [&](const Index& i) {
              return in[0](i) + branch(i);
            })};
          },
          {{{3, 4}, {3, 4}},
           {{}, {}},
           {{2, 2, 2}, {2, 2, 2}},
           {{0, 3}, {0, 3}}})
          .refuses({{{2, 3}, {3}}, {{2, 3}, {1, 3}}, {{2, 3}, {3, 2}}}),
      row(
          "add_dropout(Variable, Variable, DropoutDraw) of nothing",
          [](auto& in) { return add_dropout(in[0], in[1], {}); },
          [](const Arrays& in) -> Arrays {
            return {build(in[0].shape, [&](const Index& i) {
              return in[0](i) + in[1](i);
            })};
          },
          {{{3, 4}, {3, 4}}, {{0, 3}, {0, 3}}}),
      row(
          "relu_dropout(Variable, DropoutDraw)",
          [](auto& in) {
            return relu_dropout(in[0], {0.4, kDraw});
          },
          dropped<relu_of>,
          any),
      row(
          "gelu_dropout(Variable, GeluApproximation, DropoutDraw)",
          [](auto& in) {
            return gelu_dropout(in[0], GeluApproximation::none, {0.4, kDraw});
          },
          dropped<gelu_of>,
          any),
      row(
          "gelu_dropout(Variable, GeluApproximation, DropoutDraw) by tanh",
          [](auto& in) {
            return gelu_dropout(in[0], GeluApproximation::tanh, {0.4, kDraw});
          },
          dropped<gelu_tanh_of>,
          any),
  };
}

}  // namespace heed::op_table
