#include "autograd/layer_norm.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/random.h"
#include "tensor/reduction.h"

using namespace heed;

namespace {

Tensor noise(const Shape& shape, uint64_t seed) {
  Generator generator(seed);
  return randn(shape, kFloat64, generator);
}

std::vector<Variable> gradients(
    const Tensor& x,
    const Tensor& weight,
    const Tensor& bias,
    const Tensor& dy,
    bool create_graph) {
  const Variable a(x, true);
  const Variable w(weight, true);
  const Variable b(bias, true);
  return grad(
      {layer_norm(a, w, b)},
      {a, w, b},
      {.grad_outputs = {dy}, .create_graph = create_graph});
}

}  // namespace

TEST_CASE("layer_norm: the fused backward agrees with the composed one") {
  for (const Shape& normalized : {Shape{6}, Shape{5, 6}}) {
    const Tensor x = noise({3, 5, 6}, 1);
    const Tensor weight = noise(normalized, 2);
    const Tensor bias = noise(normalized, 3);
    const Tensor dy = noise({3, 5, 6}, 4);
    const auto fused = gradients(x, weight, bias, dy, false);
    const auto composed = gradients(x, weight, bias, dy, true);
    for (size_t i = 0; i < 3; ++i) {
      CHECK(fused[i].shape() == composed[i].shape());
      CHECK(allclose(fused[i].value(), composed[i].value(), 1e-10, 1e-12));
      CHECK(max(fused[i].value()).item<double>() > 0.01);
    }
  }
}

TEST_CASE("layer_norm: gradients worked out by hand") {
  const Variable x(tensor({1.0, 2.0, 3.0, 4.0}), true);
  layer_norm(x, Shape{4}, Variable(), Variable())
      .backward(tensor({1.0, 0.0, 0.0, 0.0}));
  CHECK(allclose(
      x.grad().value(),
      tensor({0.26833, -0.35777, -0.08944, 0.17888}),
      0,
      2e-5));
}

TEST_CASE(
    "layer_norm: gradients are finite for a constant row and for a large "
    "mean") {
  for (const Tensor& row :
       {full({1, 4}, 1234.0),
        tensor({{1e6, 1e6 + 1, 1e6 + 2, 1e6 + 3}}),
        tensor({{40000.0, 40001.0, 40002.0, 40003.0}})}) {
    for (const Variable& g : gradients(
             row,
             ones({4}),
             zeros({4}),
             tensor({{1.0, -2.0, 0.5, 3.0}}),
             false)) {
      CHECK(all(isfinite(g.value())).item<bool>());
    }
  }
}

TEST_CASE("layer_norm: a weight or bias may be missing, or need no gradient") {
  const Variable x(noise({2, 3}, 5), true);
  const Variable bias(noise({3}, 6), true);
  layer_norm(x, Shape{3}, Variable(), bias).backward(noise({2, 3}, 7));
  CHECK(x.grad().shape() == Shape{2, 3});
  CHECK(allclose(bias.grad().value(), sum(noise({2, 3}, 7), 0), 1e-12));
  CHECK_THROWS_AS(layer_norm(x, Variable(), bias), std::invalid_argument);
}
