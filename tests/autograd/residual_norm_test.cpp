#include "autograd/residual_norm.h"

#include <doctest/doctest.h>

#include <vector>

#include "autograd/dropout.h"
#include "autograd/elementwise.h"
#include "autograd/layer_norm.h"
#include "tensor/comparison.h"
#include "tensor/random.h"
#include "tensor/reduction.h"

using namespace heed;

namespace {

Tensor noise(const Shape& shape, uint64_t seed) {
  Generator generator(seed);
  return randn(shape, kFloat64, generator);
}

struct Leaves {
  Variable x, branch, weight, bias;

  explicit Leaves(const Shape& shape, const Shape& normalized)
      : x(noise(shape, 1), true),
        branch(noise(shape, 2), true),
        weight(noise(normalized, 3), true),
        bias(noise(normalized, 4), true) {}
  std::vector<Variable> all() const { return {x, branch, weight, bias}; }
};

}  // namespace

TEST_CASE("residual_norm: what layer_norm of x + dropout(branch) is") {
  // Rows within one draw of random words, and longer than one.
  struct Case {
    Shape shape, normalized;
  };
  for (const Case& sizes :
       {Case{{70, 5}, {5}},
        Case{{70, 6, 7}, {6, 7}},
        Case{{70, 1500}, {1500}}}) {
    const Shape& shape = sizes.shape;
    const Shape& normalized = sizes.normalized;
    for (const double p : {0.0, 0.3, 1.0}) {
      CAPTURE(shape);
      CAPTURE(p);
      const DropoutDraw draw{p, Generator(9).state()};
      const Leaves a(shape, normalized);
      const Variable y =
          residual_norm(a.x, a.branch, draw, normalized, a.weight, a.bias);
      const Variable composed = layer_norm(
          a.x + dropout(a.branch, draw.p, draw.start),
          normalized,
          a.weight,
          a.bias);
      CHECK(allclose(y.value(), composed.value(), 1e-12, 1e-12));
      const Tensor dy = noise(shape, 5);
      const auto fused = grad({y}, a.all(), {.grad_outputs = {dy}});
      const auto want = grad({composed}, a.all(), {.grad_outputs = {dy}});
      for (size_t i = 0; i < want.size(); ++i) {
        CAPTURE(i);
        CHECK(allclose(fused[i].value(), want[i].value(), 1e-10, 1e-11));
      }
    }
  }
}

TEST_CASE("residual_norm: the fused backward agrees with the composed one") {
  const Leaves a({3, 4, 6}, {6});
  const Tensor dy = noise({3, 4, 6}, 5);
  const Variable y = residual_norm(
      a.x, a.branch, {0.4, Generator(9).state()}, {6}, a.weight, a.bias);
  const auto fused =
      grad({y}, a.all(), {.grad_outputs = {dy}, .retain_graph = true});
  const auto composed =
      grad({y}, a.all(), {.grad_outputs = {dy}, .create_graph = true});
  for (size_t i = 0; i < fused.size(); ++i) {
    CHECK(allclose(fused[i].value(), composed[i].value(), 1e-10, 1e-12));
    CHECK(max(fused[i].value()).item<double>() > 0.01);
  }
}

TEST_CASE("residual_norm: an input that wants no gradient gets none") {
  const DropoutDraw draw{0.4, Generator(9).state()};
  const Leaves a({4, 6}, {6});
  const Variable x(a.x.value());  // a constant
  residual_norm(x, a.branch, draw, {6}, {}, {}).backward(noise({4, 6}, 5));
  CHECK(!x.grad().defined());
  const Leaves b({4, 6}, {6});
  residual_norm(b.x, b.branch, draw, {6}, {}, {}).backward(noise({4, 6}, 5));
  CHECK(equal(a.branch.grad().value(), b.branch.grad().value()));
}
