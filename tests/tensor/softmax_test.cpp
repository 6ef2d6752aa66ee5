#include "tensor/softmax.h"

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

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> floats(const Tensor& x) { return x.to_vector<float>(); }

Tensor noise(const Shape& shape, uint64_t seed) {
  Generator generator(seed);
  return randn(shape, kFloat32, generator);
}

/// The naive way, in float64.
Tensor naive(const Tensor& x, int64_t dim) {
  const Tensor e = exp(x.to(kFloat64));
  return e / sum(e, dim, true);
}

}  // namespace

TEST_CASE(
    "softmax and log_softmax: every dimension, any layout, agrees with "
    "the naive way") {
  const Tensor x = noise({5, 37, 19}, 1);
  for (const Tensor& layout :
       {x,
        x.transpose(0, 2),
        x.slice(1, 3, 30, 2),
        noise({3, 1, 4}, 2),
        noise({2, 700, 3}, 3),
        noise({1, 3, 70}, 4)}) {
    for (int64_t d = -3; d < 3; ++d) {
      CAPTURE(layout.shape());
      CAPTURE(d);
      const Tensor expected = naive(layout, d);
      CHECK(allclose(softmax(layout, d).to(kFloat64), expected, 2e-6, 1e-9));
      CHECK(allclose(
          log_softmax(layout, d).to(kFloat64), log(expected), 2e-6, 2e-6));
      CHECK(allclose(softmax(layout.to(kFloat64), d), expected, 1e-13));
      CHECK(
          allclose(log_softmax(layout.to(kFloat64), d), log(expected), 1e-13));
    }
  }
}

TEST_CASE("softmax: a fully masked row is zeros, not NaN") {
  const Tensor x =
      tensor({{-kInfinity, -kInfinity, -kInfinity}, {1.f, -kInfinity, 1.f}});
  CHECK(floats(softmax(x, 1)) == std::vector<float>{0, 0, 0, 0.5, 0, 0.5});
  CHECK(floats(log_softmax(x, 1)[0]) == std::vector<float>(3, -kInfinity));
  CHECK(
      floats(softmax(x.transpose(0, 1), 0)) ==
      std::vector<float>{0, 0.5, 0, 0, 0, 0.5});
}

TEST_CASE("softmax: NaN makes NaN of its own row only") {
  const Tensor x =
      tensor({{kNaN, -kInfinity}, {1.f, 1.f}, {2.f, kNaN}, {kInfinity, 0.f}});
  for (const Tensor& y : {softmax(x, 1), exp(log_softmax(x, 1))}) {
    const std::vector<float> v = floats(y);
    CHECK(std::isnan(v[0]));
    CHECK(std::isnan(v[1]));
    CHECK(v[2] == 0.5f);
    CHECK(std::isnan(v[4]));
    CHECK(std::isnan(v[6]));
  }
}

TEST_CASE("softmax: large logits neither overflow nor lose the row") {
  CHECK(
      floats(softmax(tensor({378.1, -249.9, -424.1}), 0)) ==
      std::vector<float>{1, 0, 0});
  CHECK(floats(softmax(full({4}, 1e30), 0)) == std::vector<float>(4, 0.25f));
  const Tensor y = log_softmax(full({2}, 1e8), 0);
  CHECK(y[0].item<float>() == doctest::Approx(-std::log(2.0)));
}

TEST_CASE("softmax: empty and zero-dimensional tensors") {
  CHECK(softmax(zeros({2, 0}), 1).shape() == Shape{2, 0});
  CHECK(softmax(zeros({0, 3}), 1).shape() == Shape{0, 3});
  CHECK(softmax(zeros({0, 3}), 0).shape() == Shape{0, 3});
  CHECK(softmax(tensor(3.0), 0).item<float>() == 1);
  CHECK(log_softmax(tensor(3.0), -1).shape() == Shape{});
}

TEST_CASE(
    "softmax: the same bits for 1, 2 and 4 threads, and for a row "
    "wherever it stands") {
  const Tensor x = noise({300, 333}, 5);
  const int before = num_threads();
  const std::vector<float> first = floats(softmax(x, 1));
  const std::vector<float> columns = floats(softmax(x, 0));
  for (const int n : {1, 2, 4}) {
    set_num_threads(n);
    CHECK(floats(softmax(x, 1)) == first);
    CHECK(floats(softmax(x, 0)) == columns);
  }
  set_num_threads(before);
  for (const int64_t row : {1, 2, 3, 299}) {
    CHECK(equal(softmax(x[row], 0), softmax(x, 1)[row]));
  }
}

TEST_CASE("softmax_backward and log_softmax_backward: the formulas") {
  const Tensor x = noise({4, 21, 5}, 6).to(kFloat64);
  const Tensor dy = noise({4, 21, 5}, 7).to(kFloat64);
  for (int64_t d = 0; d < 3; ++d) {
    const Tensor y = softmax(x, d);
    CHECK(allclose(
        softmax_backward(dy, y, d), y * (dy - sum(dy * y, d, true)), 1e-12));
    CHECK(allclose(
        log_softmax_backward(dy, log_softmax(x, d), d),
        dy - y * sum(dy, d, true),
        1e-12));
  }
  CHECK_THROWS_AS(
      softmax_backward(dy, ones({4}, kFloat64), 0), std::invalid_argument);
}

TEST_CASE("softmax: bad arguments are refused") {
  CHECK_THROWS_AS(softmax(ones({2, 3}), 2), std::invalid_argument);
  CHECK_THROWS_AS(softmax(arange(3), 0), std::invalid_argument);
  CHECK_THROWS_AS(log_softmax(Tensor(), 0), std::invalid_argument);
}
