#include "tensor/layer_norm.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/elementwise.h"
#include "tensor/parallel.h"
#include "tensor/random.h"
#include "tensor/reduction.h"

using namespace heed;

namespace {

Tensor noise(const Shape& shape, uint64_t seed) {
  Generator generator(seed);
  return randn(shape, kFloat32, generator);
}

/// The naive way, in float64, over the last dimension.
Tensor naive(
    const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const Tensor wide = x.to(kFloat64);
  const Tensor center = wide - mean(wide, -1, true);
  const Tensor y = center * rsqrt(mean(center * center, -1, true) + eps);
  return y * weight.to(kFloat64) + bias.to(kFloat64);
}

}  // namespace

TEST_CASE("layer_norm: agrees with the naive way") {
  for (const int64_t n : {1, 2, 5, 16, 33, 512}) {
    const Tensor x = noise({3, 4, n}, 1) * 3 + 2;
    const Tensor weight = noise({n}, 2);
    const Tensor bias = noise({n}, 3);
    CHECK(allclose(
        layer_norm(x, weight, bias, 1e-3).to(kFloat64),
        naive(x, weight, bias, 1e-3),
        1e-5,
        3e-6));
    CHECK(allclose(
        layer_norm(x.transpose(0, 1), weight, Tensor()).to(kFloat64),
        naive(x.transpose(0, 1), weight, zeros({n}), 1e-5),
        1e-5,
        3e-6));
    CHECK(equal(
        layer_norm(x, Shape{n}, Tensor(), Tensor()),
        layer_norm(x, ones({n}), zeros({n}))));
  }
}

TEST_CASE("layer_norm: a large mean does not cancel") {
  const Tensor expected = tensor({-1.34164, -0.44721, 0.44721, 1.34164});
  for (const double base : {40000.0, 2000.0, 1e6}) {
    const Tensor x = tensor({base, base + 1, base + 2, base + 3});
    CHECK(allclose(layer_norm(x, ones({4}), Tensor()), expected, 0, 1e-4));
  }
  const Tensor bias = noise({256}, 4);
  const Tensor weight = noise({256}, 5);
  for (const double same : {1234.0, 0.1, -1e-3, 3e7}) {
    CHECK(equal(layer_norm(full({256}, same), weight, bias), bias));
  }
  const Tensor far = noise({8, 256}, 6) + 300;
  CHECK(allclose(
      layer_norm(far, weight, bias).to(kFloat64),
      naive(far, weight, bias, 1e-5),
      1e-5,
      1e-5));
}

TEST_CASE("layer_norm: weight and bias lie along the normalised dimensions") {
  const Tensor x = tensor({{1.0, 2.0, 3.0}, {3.0, 2.0, 1.0}});
  CHECK(allclose(
      layer_norm(x, tensor({1.0, 2.0, 3.0}), tensor({10.0, 20.0, 30.0})),
      tensor({{8.77526, 20.0, 33.67421}, {11.22474, 20.0, 26.32579}}),
      0,
      1e-4));
  const Tensor block = noise({5, 3, 4}, 6);
  const Tensor weight = noise({3, 4}, 7);
  const Tensor bias = noise({3, 4}, 8);
  CHECK(equal(
      layer_norm(block, weight, bias).reshape({5, 12}),
      layer_norm(
          block.reshape({5, 12}), weight.reshape({12}), bias.reshape({12}))));
}

TEST_CASE("layer_norm_backward: the formulas, one row worked out by hand") {
  const Tensor x = tensor({1.0, 2.0, 3.0, 4.0});
  const LayerNormForward forward =
      layer_norm_forward(x, {4}, ones({4}), zeros({4}), 1e-5);
  const LayerNormGradients gradients = layer_norm_backward(
      tensor({1.0, 0.0, 0.0, 0.0}),
      x,
      {4},
      ones({4}),
      forward.mean,
      forward.rstd);
  CHECK(allclose(
      gradients.dx, tensor({0.26833, -0.35777, -0.08944, 0.17888}), 0, 2e-5));
  CHECK(allclose(gradients.dweight, tensor({-1.34164, 0.0, 0.0, 0.0}), 1e-4));
  CHECK(equal(gradients.dbias, tensor({1.0, 0.0, 0.0, 0.0})));
}

TEST_CASE("layer_norm: rank 3 equals rank 2 exactly, gradients too") {
  const Tensor x = noise({2, 3, 4}, 9);
  const Tensor dy = noise({2, 3, 4}, 10);
  const Tensor weight = noise({4}, 11);
  const auto run = [&](const Shape& shape) {
    const Tensor v = x.reshape(shape);
    const LayerNormForward f =
        layer_norm_forward(v, {4}, weight, Tensor(), 1e-5);
    return std::make_pair(
        f,
        layer_norm_backward(dy.reshape(shape), v, {4}, weight, f.mean, f.rstd));
  };
  const auto [a, da] = run({2, 3, 4});
  const auto [b, db] = run({6, 4});
  CHECK(a.y.shape() == Shape{2, 3, 4});
  CHECK(equal(a.y.reshape({6, 4}), b.y));
  CHECK(equal(da.dx.reshape({6, 4}), db.dx));
  CHECK(equal(da.dweight, db.dweight));
  CHECK(equal(da.dbias, db.dbias));
}

TEST_CASE(
    "layer_norm: gradients of 4096 rows have the same bits in every run "
    "and for every number of threads") {
  const Tensor x = noise({4096, 96}, 12);
  const Tensor dy = noise({4096, 96}, 13);
  const Tensor weight = noise({96}, 14);
  const int before = num_threads();
  std::vector<float> first;
  for (int run = 0; run < 40; ++run) {
    set_num_threads(1 << run % 4);
    const LayerNormForward f =
        layer_norm_forward(x, {96}, weight, Tensor(), 1e-5);
    const LayerNormGradients g =
        layer_norm_backward(dy, x, {96}, weight, f.mean, f.rstd);
    std::vector<float> now = g.dweight.to_vector<float>();
    const std::vector<float> dbias = g.dbias.to_vector<float>();
    const std::vector<float> dx = sum(g.dx, 0).to_vector<float>();
    now.insert(now.end(), dbias.begin(), dbias.end());
    now.insert(now.end(), dx.begin(), dx.end());
    if (first.empty()) {
      first = now;
      CHECK(allclose(g.dbias, sum(dy, 0), 1e-5, 1e-5));
    }
    CHECK(now == first);
  }
  set_num_threads(before);
}

TEST_CASE("layer_norm: NaN stays in its row; no rows are fine") {
  Tensor x = noise({3, 4}, 15);
  x.select(0, 1).select(0, 2).fill_(std::numeric_limits<float>::quiet_NaN());
  const Tensor y = layer_norm(x, ones({4}), zeros({4}));
  CHECK(all(isnan(y[1])).item<bool>());
  CHECK(all(isfinite(y[0])).item<bool>());
  CHECK(all(isfinite(y[2])).item<bool>());
  const LayerNormForward f =
      layer_norm_forward(zeros({0, 4}), {4}, ones({4}), zeros({4}), 1e-5);
  CHECK(f.y.shape() == Shape{0, 4});
  const LayerNormGradients g = layer_norm_backward(
      zeros({0, 4}), zeros({0, 4}), {4}, ones({4}), f.mean, f.rstd);
  CHECK(equal(g.dweight, zeros({4})));
}

TEST_CASE("layer_norm: bad arguments are refused") {
  const Tensor x = ones({2, 7});
  CHECK_THROWS_WITH_AS(
      layer_norm(x, ones({8}), Tensor()),
      "layer_norm: x must end with the normalised shape [8], got [2, 7]",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      layer_norm(x, Shape{7}, ones({1}), Tensor()),
      "layer_norm: weight must have shape [7], got [1]",
      std::invalid_argument);
  CHECK_THROWS_AS(
      layer_norm(x, ones({7}), ones({1, 7})), std::invalid_argument);
  CHECK_THROWS_AS(layer_norm(x, ones({7}), Tensor(), 0), std::invalid_argument);
  CHECK_THROWS_AS(
      layer_norm(x, ones({7}, kFloat64), Tensor()), std::invalid_argument);
  CHECK_THROWS_AS(
      layer_norm(x, Shape{}, Tensor(), Tensor()), std::invalid_argument);
  CHECK_THROWS_AS(
      layer_norm(arange(7), Shape{7}, Tensor(), Tensor()),
      std::invalid_argument);
}

TEST_CASE("layer_norm_backward: shapes that are not the forward's throw") {
  const Tensor x = ones({3, 4});
  const LayerNormForward forward =
      layer_norm_forward(x, {4}, Tensor(), Tensor(), 1e-5);
  CHECK_THROWS_WITH_AS(
      layer_norm_backward(
          ones({2, 4}), x, {4}, Tensor(), forward.mean, forward.rstd),
      "layer_norm_backward: dy must have the shape of x, [3, 4], got [2, 4]",
      std::invalid_argument);
  CHECK_THROWS_AS(
      layer_norm_backward(
          x, x, {4}, Tensor(), forward.mean.slice(0, 0, 2), forward.rstd),
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      layer_norm_backward(x, x, {4}, ones({5}), forward.mean, forward.rstd),
      "layer_norm_backward: weight must have shape [4], got [5]",
      std::invalid_argument);
  CHECK_THROWS_AS(
      layer_norm_backward(x, x, {2}, Tensor(), forward.mean, forward.rstd),
      std::invalid_argument);
  CHECK_THROWS_AS(
      layer_norm_backward(x, x, {}, Tensor(), forward.mean, forward.rstd),
      std::invalid_argument);
  CHECK_THROWS_AS(
      layer_norm_backward(
          x, x, {4}, Tensor(), forward.mean.to(kFloat32), forward.rstd),
      std::invalid_argument);
}
