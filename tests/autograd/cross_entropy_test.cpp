#include "autograd/cross_entropy.h"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "autograd/grad_mode.h"
#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/elementwise.h"
#include "tensor/memory.h"
#include "tensor/random.h"
#include "tensor/reduction.h"
#include "tensor/softmax.h"

using namespace heed;

namespace {

Tensor gradient(
    const Tensor& logits,
    const Tensor& targets,
    const CrossEntropyOptions& options = {},
    const Tensor& dy = {},
    bool create_graph = false) {
  const Variable x(logits, true);
  const Variable loss = cross_entropy(x, targets, options);
  return grad(
             {loss},
             {x},
             {.grad_outputs = {dy.defined() ? dy : ones_like(loss.value())},
              .create_graph = create_graph})[0]
      .value();
}

}  // namespace

TEST_CASE("cross_entropy: the gradient is softmax - one_hot") {
  CHECK(equal(
      gradient(tensor({{0.0, -200.0}}), tensor({1})), tensor({{1.0, -1.0}})));
  CHECK(equal(
      gradient(tensor({{-1047.0, -981.0, 1891.0}}), tensor({0})),
      tensor({{-1.0, 0.0, 1.0}})));
  CHECK(allclose(
      gradient(tensor({{1e8, 1e8}}), tensor({1})), tensor({{0.5, -0.5}})));
}

TEST_CASE(
    "cross_entropy: the fused backward agrees with the composed one, and "
    "with differences") {
  Generator generator(1);
  Tensor logits = randn({3, 4, 7}, kFloat64, generator);
  logits.select(2, 3).slice(1, 0, 2).fill_(
      -std::numeric_limits<double>::infinity());
  const Tensor targets =
      tensor({{0, 1, -100, 6}, {2, 4, 3, 5}, {6, -100, 0, 3}});
  for (const double smoothing : {0.0, 0.3, 1.0}) {
    for (const Reduction reduction :
         {Reduction::mean, Reduction::sum, Reduction::none}) {
      CAPTURE(smoothing);
      const CrossEntropyOptions options{
          .label_smoothing = smoothing, .reduction = reduction};
      const Tensor loss = cross_entropy(logits, targets, options);
      const Tensor dy = randn(loss.shape(), kFloat64, generator);
      const Tensor fused = gradient(logits, targets, options, dy);
      CHECK(allclose(
          fused, gradient(logits, targets, options, dy, true), 1e-10, 1e-12));
      const Tensor direction = randn(logits.shape(), kFloat64, generator);
      const double h = 1e-5;
      const auto along = [&](double step) {
        return cross_entropy(logits + direction * step, targets, options);
      };
      const Tensor slope = (along(h) - along(-h)) / (2 * h);
      CHECK(
          sum(fused * direction).item<double>() ==
          doctest::Approx(sum(slope * dy).item<double>()).epsilon(1e-6));
    }
  }
}

TEST_CASE("cross_entropy: the gradient of an ignored row is exactly 0") {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const Tensor logits =
      tensor({{2.f, 0.f, 0.f}, {0.f, 3.f, 0.f}, {kNaN, 0.f, 20.f}});
  for (const bool create_graph : {false, true}) {
    const Tensor dx = gradient(
        logits,
        tensor({0, 1, -100}),
        {.label_smoothing = 0.1},
        ones({}),
        create_graph);
    CHECK(equal(dx[2], zeros({3})));
    CHECK(all(isfinite(dx)).item<bool>());
    CHECK(equal(
        gradient(
            tensor({{1.0, 2.0, 3.0}}),
            tensor({-100}),
            {},
            ones({}),
            create_graph),
        zeros({1, 3})));
  }
}

TEST_CASE("cross_entropy: one matrix for the gradient, and no other") {
  const Variable x(ones({64, 1000}), true);
  const Tensor targets = zeros({64}, kInt64);
  constexpr int64_t kRows = 64 * 64;
  const int64_t before = memory_stats().live_bytes;
  const auto most = [&](const auto& f) {
    reset_peak_memory();
    f();
    return memory_stats().peak_bytes - before;
  };
  const int64_t matrix = most([&] { ones(x.shape()); });
  CHECK(most([&] { cross_entropy(x, targets).backward(); }) < matrix + kRows);
  x.zero_grad();
  CHECK(most([&] {
          const NoGradGuard guard;
          cross_entropy(x, targets);
        }) < kRows);
  CHECK(most([&] { cross_entropy(x.detach(), targets); }) < kRows);
}
