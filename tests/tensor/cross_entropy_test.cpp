#include "tensor/cross_entropy.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/elementwise.h"
#include "tensor/indexing.h"
#include "tensor/parallel.h"
#include "tensor/random.h"
#include "tensor/reduction.h"
#include "tensor/softmax.h"

using namespace heed;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

double loss(
    const Tensor& logits,
    const Tensor& targets,
    const CrossEntropyOptions& options = {}) {
  return cross_entropy(logits, targets, options).item<double>();
}

Tensor noise(const Shape& shape, uint64_t seed) {
  Generator generator(seed);
  return randn(shape, kFloat32, generator);
}

/// The message of the exception that cross_entropy throws.
std::string failure(const Tensor& logits, const Tensor& targets) {
  try {
    cross_entropy(logits, targets);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("cross_entropy: agrees with the naive way") {
  for (const int64_t classes : {1, 2, 11, 16, 40, 1000, 2500}) {
    const Tensor logits = noise({4, 6, classes}, 1) * 3;
    Generator generator(2);
    const Tensor targets = randint(0, classes, {4, 6}, kInt64, generator);
    for (const double smoothing : {0.0, 0.1, 1.0}) {
      CAPTURE(classes);
      CAPTURE(smoothing);
      const Tensor q = one_hot(targets, classes, kFloat64) * (1 - smoothing) +
                       smoothing / static_cast<double>(classes);
      const Tensor expected =
          -sum(q * log_softmax(logits.to(kFloat64), -1), -1);
      CrossEntropyOptions options{
          .label_smoothing = smoothing, .reduction = Reduction::none};
      CHECK(allclose(
          cross_entropy(logits, targets, options).to(kFloat64),
          expected,
          1e-5,
          1e-6));
      CHECK(allclose(
          cross_entropy_forward(logits, targets, options).dlogits.to(kFloat64),
          softmax(logits.to(kFloat64), -1) - q,
          1e-5,
          1e-6));
      options.reduction = Reduction::sum;
      CHECK(
          loss(logits.to(kFloat64), targets, options) ==
          doctest::Approx(sum(expected).item<double>()).epsilon(1e-12));
      options.reduction = Reduction::mean;
      CHECK(
          loss(logits.transpose(0, 1), targets.transpose(0, 1), options) ==
          doctest::Approx(mean(expected).item<double>()).epsilon(1e-5));
    }
  }
}

TEST_CASE("cross_entropy: large logits") {
  CHECK(loss(tensor({{1e8, 1e8}}), tensor({1})) == doctest::Approx(0.693147));
  CHECK(loss(tensor({{0.0, -200.0}}), tensor({1})) == doctest::Approx(200));
  CHECK(
      loss(tensor({{-1047.0, -981.0, 1891.0}}), tensor({0})) ==
      doctest::Approx(2938));
}

TEST_CASE("cross_entropy: smoothing over logits as far apart as can be") {
  // One class stands above all others; the mean distance is below the largest
  // number, the sum of distances and the largest distance are not.
  constexpr double kMost = std::numeric_limits<float>::max();
  constexpr int64_t kClasses = 3000;
  Tensor logits = full({1, kClasses}, -kMost / 1000);
  logits.select(1, 7).fill_(0);
  const double others = 0.1 * (kClasses - 1) / kClasses;
  CHECK(
      loss(logits, tensor({7}), {.label_smoothing = 0.1}) ==
      doctest::Approx(others * kMost / 1000));
  CHECK(
      loss(tensor({{kMost, -kMost}}), tensor({0}), {.label_smoothing = 0.1}) ==
      doctest::Approx(0.1 * kMost));
}

TEST_CASE("cross_entropy: ignored targets are counted nowhere") {
  const Tensor logits =
      tensor({{2.0, 0.0, 0.0}, {0.0, 3.0, 0.0}, {0.0, 0.0, 20.0}});
  const Tensor targets = tensor({0, 1, -100});
  const double none = loss(logits, targets);
  CHECK(none == doctest::Approx(0.167234).epsilon(1e-5));
  CHECK(
      loss(logits, targets, {.label_smoothing = 0.1}) ==
      doctest::Approx(0.333901).epsilon(1e-5));
  CHECK(
      loss(
          logits,
          targets,
          {.label_smoothing = 0.1, .reduction = Reduction::sum}) ==
      doctest::Approx(0.667801).epsilon(1e-5));
  Tensor poisoned = logits.clone();
  poisoned.select(0, 2).fill_(std::numeric_limits<float>::quiet_NaN());
  CHECK(loss(poisoned, targets) == none);
  CHECK(
      loss(logits, tensor({0, 1, 2}), {.ignore_index = 2}) ==
      doctest::Approx(none));
}

TEST_CASE("cross_entropy: a batch of ignored targets, or of none, has loss 0") {
  const Tensor logits = tensor({{1.0, 2.0, 3.0}});
  for (const double smoothing : {0.0, 0.4}) {
    for (const Reduction reduction : {Reduction::mean, Reduction::sum}) {
      const CrossEntropyOptions options{
          .label_smoothing = smoothing, .reduction = reduction};
      CHECK(loss(logits, tensor({-100}), options) == 0);
      CHECK(loss(zeros({0, 3}), zeros({0}, kInt64), options) == 0);
    }
  }
}

TEST_CASE("cross_entropy: a banned class neither makes NaN nor infinity") {
  const Tensor logits = tensor({{1.f, 2.f, -kInfinity, 0.5f, 1.5f}});
  const double plain = loss(logits, tensor({1}));
  CHECK(
      plain ==
      doctest::Approx(
          -2 +
          std::log(std::exp(1) + std::exp(2) + std::exp(0.5) + std::exp(1.5))));
  // 0.6 * the plain loss + 0.4 / 5 * those of the four classes allowed.
  const double all_four = 4 * (plain + 2) - 5;
  CHECK(
      loss(logits, tensor({1}), {.ignore_index = 0, .label_smoothing = 0.4}) ==
      doctest::Approx(0.6 * plain + 0.08 * all_four));
  CHECK(loss(logits, tensor({2})) == std::numeric_limits<double>::infinity());
  CHECK(std::isfinite(loss(logits, tensor({2}), {.label_smoothing = 1})));
}

TEST_CASE("cross_entropy: a row of banned classes is as its probabilities, 0") {
  for (const DType dtype : {kFloat32, kFloat64}) {
    for (const int64_t classes : {1, 3, 40}) {
      for (const double smoothing : {0.0, 0.2, 1.0}) {
        CAPTURE(classes);
        CAPTURE(smoothing);
        const Tensor logits = full({1, classes}, -kInfinity, dtype);
        const auto [value, dlogits, counted] = cross_entropy_forward(
            logits, zeros({1}, kInt64), {.label_smoothing = smoothing});
        CHECK(
            value.to(kFloat64).item<double>() ==
            (smoothing < 1 ? double{kInfinity} : 0.0));
        CHECK(
            dlogits.to(kFloat64).select(1, 0).item<double>() ==
            doctest::Approx(smoothing - 1));
        CHECK(
            sum(abs(dlogits)).to(kFloat64).item<double>() ==
            doctest::Approx(1 - smoothing));
      }
    }
  }
}

TEST_CASE(
    "cross_entropy: a bad target is named, with its position, wherever "
    "it stands") {
  const Tensor logits = zeros({100000, 4});
  for (const int64_t position : {0, 50000, 99999}) {
    Tensor targets = zeros({100000}, kInt64);
    targets.select(0, position).fill_(4);
    CHECK(
        failure(logits, targets) ==
        "cross_entropy: targets must be in [0, 4) or the ignored -100, got 4 "
        "at position " +
            std::to_string(position));
    targets.select(0, position).fill_(-1);
    CHECK(
        failure(logits, targets).find("got -1 at position") !=
        std::string::npos);
    targets.select(0, position).fill_(3);
    CHECK(loss(logits, targets) == doctest::Approx(std::log(4.0)));
  }
}

TEST_CASE("cross_entropy: bad shapes, dtypes and options are refused") {
  const Tensor logits = zeros({2, 3});
  CHECK_THROWS_AS(
      cross_entropy(logits, zeros({3}, kInt64)), std::invalid_argument);
  CHECK_THROWS_AS(
      cross_entropy(logits, zeros({2, 1}, kInt64)), std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      cross_entropy(logits, zeros({2})),
      "cross_entropy: targets must have dtype int64, got float32",
      std::invalid_argument);
  CHECK_THROWS_AS(
      cross_entropy(zeros({2, 3}, kInt64), zeros({2}, kInt64)),
      std::invalid_argument);
  CHECK_THROWS_AS(cross_entropy(tensor(1.0), tensor(0)), std::invalid_argument);
  CHECK_THROWS_AS(
      cross_entropy(logits, tensor({0, 1}), {.label_smoothing = 1.5}),
      std::invalid_argument);
  CHECK_THROWS_AS(
      cross_entropy(zeros({2, 0}), tensor({0, 0})), std::invalid_argument);
}

TEST_CASE("cross_entropy: the same bits for 1, 2 and 4 threads") {
  const Tensor logits = noise({500, 97}, 3);
  Generator generator(4);
  const Tensor targets = randint(0, 97, {500}, kInt64, generator);
  const CrossEntropyOptions options{.label_smoothing = 0.1};
  const int before = num_threads();
  const double first = loss(logits, targets, options);
  const Tensor first_gradient =
      cross_entropy_forward(logits, targets, options).dlogits;
  for (const int n : {1, 2, 4}) {
    set_num_threads(n);
    CHECK(loss(logits, targets, options) == first);
    CHECK(equal(
        cross_entropy_forward(logits, targets, options).dlogits,
        first_gradient));
  }
  set_num_threads(before);
}

TEST_CASE("cross_entropy_backward: shapes that are not the forward's throw") {
  const Tensor logits = ones({3, 4});
  const Tensor targets = zeros({3}, kInt64);
  const CrossEntropyOptions options{.reduction = Reduction::none};
  const Tensor dlogits =
      cross_entropy_forward(logits, targets, options).dlogits;
  CHECK_THROWS_AS(
      cross_entropy_backward(ones({2}), dlogits, targets, options),
      std::invalid_argument);
  CHECK_THROWS_AS(
      cross_entropy_backward(ones({3}), dlogits, zeros({2}, kInt64), options),
      std::invalid_argument);
  CHECK_THROWS_AS(
      cross_entropy_backward(ones({3}), dlogits, targets, {}),
      std::invalid_argument);
  CHECK_THROWS_AS(
      cross_entropy_backward(
          ones({1, 3}), dlogits, targets.reshape({1, 3}), options),
      std::invalid_argument);
}

TEST_CASE("cross_entropy_backward: a gradient that does not lie densely") {
  const Tensor dlogits = noise({4, 3}, 9).transpose(0, 1);
  const CrossEntropyOptions options{.reduction = Reduction::none};
  CHECK(equal(
      cross_entropy_backward(
          full({3}, 2), dlogits, zeros({3}, kInt64), options),
      dlogits * 2));
}

TEST_CASE("cross_entropy_backward: ignored rows are 0, whatever dy") {
  const Tensor logits = noise({3, 5}, 7);
  const Tensor targets = tensor({1, -100, 4});
  const CrossEntropyOptions options{.reduction = Reduction::none};
  const Tensor dx = cross_entropy_backward(
      tensor({2.f, kInfinity, 3.f}),
      cross_entropy_forward(logits, targets, options).dlogits,
      targets,
      options);
  CHECK(equal(dx.select(0, 1), zeros({5})));
  CHECK(allclose(
      dx.select(0, 0),
      (softmax(logits.select(0, 0), -1) - one_hot(tensor(1), 5, kFloat32)) *
          2));
}
