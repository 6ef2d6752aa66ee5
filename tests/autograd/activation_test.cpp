#include "autograd/activation.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "autograd/elementwise.h"
#include "tensor/comparison.h"
#include "tensor/creation.h"

using namespace heed;

namespace {

using Function = std::function<Variable(const Variable&)>;

struct Activation {
  std::string name;
  Function f;
};

const Activation kActivations[] = {
    {"tanh", [](const Variable& x) { return tanh(x); }},
    {"sigmoid", [](const Variable& x) { return sigmoid(x); }},
    {"relu", [](const Variable& x) { return relu(x); }},
    {"normal_cdf", [](const Variable& x) { return normal_cdf(x); }},
    {"gelu", [](const Variable& x) { return gelu(x); }},
    {"gelu by tanh",
     [](const Variable& x) { return gelu(x, GeluApproximation::tanh); }},
    {"silu", [](const Variable& x) { return silu(x); }},
};

// dy f'(x), and dv d/dx (dy f'(x)).
std::pair<Tensor, Tensor> derivatives(
    const Function& f, const Tensor& at, const Tensor& dy, const Tensor& dv) {
  const Variable x(at, true);
  const Variable dx = grad(
      {f(x)}, {x}, {.grad_outputs = {Variable(dy)}, .create_graph = true})[0];
  if (!dx.requires_grad()) {
    return {dx.value(), zeros_like(at)};
  }
  const Variable ddx = grad(
      {dx}, {x}, {.grad_outputs = {Variable(dv)}, .allow_unused = true})[0];
  return {dx.value(), ddx.defined() ? ddx.value() : zeros_like(at)};
}

}  // namespace

TEST_CASE("activations: the fused gradient is that of the composed form") {
  for (DType dtype : {kFloat32, kFloat64}) {
    const Tensor x = arange(-6.01, 6, 0.1, dtype).reshape({11, 11});
    const Tensor dy = cos(arange(121, dtype)).reshape({11, 11});
    const double tolerance = dtype == kFloat32 ? 1e-6 : 1e-14;
    for (const auto& op : kActivations) {
      const auto& f = op.f;
      CAPTURE(op.name);
      const Variable v(x.transpose(0, 1), true);
      f(v).backward(Variable(dy));
      const Tensor composed = derivatives(f, x.transpose(0, 1), dy, dy).first;
      CHECK(allclose(v.grad().value(), composed, 1e-5, tolerance));
    }
  }
}

TEST_CASE("activations: first and second derivative against differences") {
  const Tensor x = arange(-4.03, 4, 0.21, kFloat64);
  const Tensor dy = cos(arange(x.numel(), kFloat64));
  const Tensor dv = sin(arange(x.numel(), kFloat64) + 0.4);
  const double h = 1e-5;
  for (const auto& op : kActivations) {
    const auto& f = op.f;
    CAPTURE(op.name);
    const auto [dx, ddx] = derivatives(f, x, dy, dv);
    const Tensor slope = (f(x + h).value() - f(x - h).value()) / (2 * h);
    CHECK(allclose(dx, dy * slope, 1e-7, 1e-8));
    const Tensor bend = (derivatives(f, x + h, dy, dv).first -
                         derivatives(f, x - h, dy, dv).first) /
                        (2 * h);
    CHECK(allclose(ddx, dv * bend, 1e-7, 1e-8));
  }
}

TEST_CASE("relu: slope 0 at 0, and no trace of what it stopped") {
  const double inf = std::numeric_limits<double>::infinity();
  const Variable x(tensor({-1., 0., 2.}), true);
  relu(x).backward(Variable(tensor({inf, inf, 5.})));
  CHECK(equal(x.grad().value(), tensor({0., 0., 5.})));
}

TEST_CASE("gelu: PyTorch's gradient") {
  const Variable x(tensor({-1., 0.5, 2.}, kFloat64), true);
  gelu(x).backward(Variable(ones({3}, kFloat64)));
  CHECK(allclose(
      x.grad().value(),
      tensor(
          {-0.08331547058768632, 0.8674951246561629, 1.085231801078197},
          kFloat64),
      1e-13));
}
