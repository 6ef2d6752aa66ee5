#include "tensor/random.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "tensor/creation.h"
#include "tensor/parallel.h"

namespace {

using namespace heed;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Kolmogorov and Smirnov's distance from a distribution function, times
/// sqrt(n): above 1.95 once in a thousand draws.
template <typename Cdf>
double ks_statistic(const Tensor& draw, const Cdf& cdf) {
  std::vector<double> x = draw.to_vector<double>();
  std::sort(x.begin(), x.end());
  const auto n = static_cast<double>(x.size());
  double distance = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double p = cdf(x[i]);
    distance = std::max(distance, p - static_cast<double>(i) / n);
    distance = std::max(distance, static_cast<double>(i + 1) / n - p);
  }
  return distance * std::sqrt(n);
}

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

double mean_of(const Tensor& x) {
  double sum = 0.0;
  for (const double v : x.to_vector<double>()) {
    sum += v;
  }
  return sum / static_cast<double>(x.numel());
}

/// How often each value comes in n draws.
template <typename Draw>
std::map<std::vector<int64_t>, int> counts_of(int n, const Draw& draw) {
  std::map<std::vector<int64_t>, int> counts;
  for (int i = 0; i < n; ++i) {
    ++counts[draw().template to_vector<int64_t>()];
  }
  return counts;
}

TEST_CASE("rand: uniform in [0, 1), for float32 and float64") {
  for (const DType dtype : {kFloat32, kFloat64}) {
    Generator generator(1);
    const Tensor x = rand({100, 500}, dtype, generator);
    CHECK(x.dtype() == dtype);
    CHECK(x.shape() == Shape{100, 500});
    const std::vector<double> values = x.to_vector<double>();
    CHECK(*std::min_element(values.begin(), values.end()) >= 0.0);
    CHECK(*std::max_element(values.begin(), values.end()) < 1.0);
    CHECK(ks_statistic(x, [](double v) { return v; }) < 1.95);
  }
}

TEST_CASE("rand: float64 has 53 bits, not float32's 24") {
  Generator generator(2);
  int fine = 0;
  for (const double x : rand({1000}, kFloat64, generator).to_vector<double>()) {
    CHECK(std::ldexp(x, 53) == std::floor(std::ldexp(x, 53)));
    fine += std::fmod(std::ldexp(x, 53), 2.0) == 1.0;
  }
  CHECK(std::abs(fine - 500) < 4 * 16);
}

TEST_CASE("randn: standard normal, for float32 and float64") {
  for (const DType dtype : {kFloat32, kFloat64}) {
    Generator generator(3);
    const Tensor x = randn({50'000}, dtype, generator);
    CHECK(x.dtype() == dtype);
    CHECK(ks_statistic(x, normal_cdf) < 1.95);
    CHECK(std::fabs(mean_of(x)) < 4 / std::sqrt(50'000.0));
  }
}

TEST_CASE("randint: every integer of the interval comes equally often") {
  for (const DType dtype : {kInt64, kFloat32, kFloat64}) {
    Generator generator(4);
    const Tensor x = randint(-2, 3, {50'000}, dtype, generator);
    CHECK(x.dtype() == dtype);
    std::array<int, 5> counts{};
    for (const int64_t v : x.to_vector<int64_t>()) {
      REQUIRE(v >= -2);
      REQUIRE(v < 3);
      ++counts[static_cast<size_t>(v + 2)];
    }
    for (const int count : counts) {
      CHECK(std::abs(count - 10'000) < 4 * 90);
    }
  }
}

TEST_CASE("randint: an interval of one integer, and the widest there is") {
  Generator generator(5);
  CHECK(
      randint(7, 8, {3}, kInt64, generator).to_vector<int64_t>() ==
      std::vector<int64_t>{7, 7, 7});
  using Limits = std::numeric_limits<int64_t>;
  const std::vector<int64_t> wide =
      randint(Limits::min(), Limits::max(), {100}, kInt64, generator)
          .to_vector<int64_t>();
  CHECK(*std::min_element(wide.begin(), wide.end()) < -(int64_t{1} << 61));
  CHECK(*std::max_element(wide.begin(), wide.end()) > int64_t{1} << 61);
}

TEST_CASE("randperm: each number once, in an order that is not the first") {
  Generator generator(6);
  std::vector<int64_t> order = randperm(1000, generator).to_vector<int64_t>();
  std::vector<int64_t> sorted(1000);
  for (size_t i = 0; i < 1000; ++i) {
    sorted[i] = static_cast<int64_t>(i);
  }
  CHECK(order != sorted);
  std::sort(order.begin(), order.end());
  CHECK(order == sorted);
}

TEST_CASE("randperm: all orders of 3 and of 4 come equally often") {
  Generator generator(7);
  const auto threes = counts_of(6000, [&] { return randperm(3, generator); });
  CHECK(threes.size() == 6);
  for (const auto& [order, count] : threes) {
    CHECK(std::abs(count - 1000) < 4 * 29);
  }
  const auto fours = counts_of(24'000, [&] { return randperm(4, generator); });
  CHECK(fours.size() == 24);
  for (const auto& [order, count] : fours) {
    CHECK(std::abs(count - 1000) < 4 * 31);
  }
}

TEST_CASE("bernoulli: p comes as often as it must, 0 and 1 always") {
  Generator generator(8);
  const Shape shape{200, 500};
  CHECK(mean_of(bernoulli(0.0, shape, kFloat32, generator)) == 0.0);
  CHECK(mean_of(bernoulli(1.0, shape, kFloat32, generator)) == 1.0);
  for (const DType dtype : {kFloat32, kFloat64, kInt64, kBool}) {
    const Tensor x = bernoulli(0.3, shape, dtype, generator);
    CHECK(x.dtype() == dtype);
    CHECK(x.shape() == shape);
    for (const double v : x.to_vector<double>()) {
      REQUIRE((v == 0.0 || v == 1.0));
    }
    CHECK(std::fabs(mean_of(x) - 0.3) < 4 * std::sqrt(0.21 / 1e5));
  }
}

TEST_CASE("bernoulli: each element of a probability tensor has its own") {
  Generator generator(9);
  const Tensor p = tensor({{0.0f, 0.25f, 0.5f}, {0.75f, 1.0f, 0.1f}});
  std::array<double, 6> sums{};
  for (int i = 0; i < 10'000; ++i) {
    const Tensor x = bernoulli(p, generator);
    REQUIRE(x.shape() == p.shape());
    const std::vector<double> values = x.to_vector<double>();
    for (size_t j = 0; j < 6; ++j) {
      sums[j] += values[j];
    }
  }
  const std::vector<double> expected = p.to_vector<double>();
  CHECK(sums[0] == 0);
  CHECK(sums[4] == 10'000);
  for (size_t j = 0; j < 6; ++j) {
    CHECK(std::fabs(sums[j] / 1e4 - expected[j]) < 4 * 0.005);
  }
}

TEST_CASE("bernoulli: a probability tensor draws what one probability draws") {
  Generator generator(10);
  Generator again(10);
  const Shape shape{7, 11, 13};
  const Tensor p = full(shape, 0.3, kFloat64);
  CHECK(
      bernoulli(p, generator).to_vector<double>() ==
      bernoulli(0.3, shape, kFloat64, again).to_vector<double>());
  CHECK(generator.state() == again.state());
}

TEST_CASE("bernoulli: a strided probability tensor is read in its own order") {
  Generator generator(11);
  const Tensor p = tensor({{0.0, 1.0}, {0.0, 1.0}, {1.0, 0.0}}).transpose(0, 1);
  CHECK(
      bernoulli(p, generator).to_vector<double>() ==
      std::vector<double>{0, 0, 1, 1, 1, 0});
}

TEST_CASE(
    "uniform_ and normal_: overwrite with the interval or moments given") {
  for (const DType dtype : {kFloat32, kFloat64}) {
    Generator generator(12);
    Tensor x = zeros({40'000}, dtype);
    CHECK(&uniform_(x, -2.0, 6.0, generator) == &x);
    CHECK(ks_statistic(x, [](double v) { return (v + 2) / 8; }) < 1.95);
    CHECK(&normal_(x, 5.0, 0.5, generator) == &x);
    CHECK(ks_statistic(x, [](double v) {
            return normal_cdf((v - 5) / 0.5);
          }) < 1.95);
    normal_(x, 1.5, 0.0, generator);
    CHECK(x.to_vector<double>() == std::vector<double>(40'000, 1.5));
  }
}

TEST_CASE(
    "uniform_: a strided view gets the numbers of a dense one, no others") {
  Generator generator(13);
  Generator again(13);
  Tensor x = full({4, 6}, 9, kFloat32);
  Tensor columns = x.slice(1, 0, 6, 2);
  uniform_(columns, 0.0, 1.0, generator);
  CHECK(
      columns.to_vector<float>() ==
      rand({4, 3}, kFloat32, again).to_vector<float>());
  CHECK(x.slice(1, 1, 6, 2).to_vector<float>() == std::vector<float>(12, 9.0f));
}

TEST_CASE("random: a write counts as one, so that saved values are guarded") {
  Tensor x = zeros({3});
  const uint32_t before = x.version();
  Generator generator(14);
  uniform_(x, 0.0, 1.0, generator);
  CHECK(x.version() > before);
}

TEST_CASE("random: the same bits for 1, 2 and 4 threads") {
  const int threads_before = num_threads();
  const auto draw = [](int threads) {
    set_num_threads(threads);
    Generator generator(15);
    const Shape shape{101, 301};
    std::vector<double> all;
    const auto append = [&](const Tensor& x) {
      const std::vector<double> values = x.to_vector<double>();
      all.insert(all.end(), values.begin(), values.end());
    };
    for (const DType dtype : {kFloat32, kFloat64}) {
      const Tensor p = rand(shape, dtype, generator);
      append(p);
      append(randn(shape, dtype, generator));
      append(bernoulli(p, generator));
      append(bernoulli(0.4, shape, dtype, generator));
    }
    append(randint(0, 1000, shape, kInt64, generator));
    append(randperm(5000, generator));
    return all;
  };
  const std::vector<double> one = draw(1);
  const std::vector<double> two = draw(2);
  const std::vector<double> four = draw(4);
  set_num_threads(threads_before);
  CHECK((one == two));
  CHECK((one == four));
}

TEST_CASE("random: a seed gives its numbers again, another seed others") {
  const auto draw = [](uint64_t seed) {
    manual_seed(seed);
    std::vector<double> all = rand({10}).to_vector<double>();
    for (const Tensor& x :
         {randn({10}),
          randint(0, 1000, {10}),
          randperm(10),
          bernoulli(0.5, {10}),
          bernoulli(full({10}, 0.5))}) {
      const std::vector<double> values = x.to_vector<double>();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  };
  const GeneratorState before = default_generator().state();
  CHECK(draw(16) == draw(16));
  CHECK(draw(16) != draw(17));
  default_generator().set_state(before);
}

TEST_CASE("random: a saved state restores the numbers that follow") {
  Generator generator(18);
  randn({77}, kFloat32, generator);
  const GeneratorState state = generator.state();
  const std::vector<float> first =
      randn({33}, kFloat32, generator).to_vector<float>();
  CHECK(randn({33}, kFloat32, generator).to_vector<float>() != first);
  generator.set_state(state);
  CHECK(randn({33}, kFloat32, generator).to_vector<float>() == first);
}

TEST_CASE("random: tensors of no elements draw nothing") {
  Generator generator(19);
  CHECK(rand({0, 3}, kFloat32, generator).numel() == 0);
  CHECK(randn({2, 0}, kFloat64, generator).shape() == Shape{2, 0});
  CHECK(randint(0, 2, {0}, kInt64, generator).numel() == 0);
  CHECK(randperm(0, generator).shape() == Shape{0});
  CHECK(bernoulli(0.5, {0}, kBool, generator).numel() == 0);
  CHECK(bernoulli(zeros({0, 4}), generator).shape() == Shape{0, 4});
  Tensor x = zeros({0});
  uniform_(x, 0.0, 1.0, generator);
  normal_(x, 0.0, 1.0, generator);
  CHECK(generator.state() == GeneratorState{19, 0});
}

TEST_CASE("random: a single number has shape []") {
  Generator generator(20);
  CHECK(rand({}, kFloat32, generator).item<float>() < 1.0f);
  CHECK(randint(3, 4, {}, kInt64, generator).item<int64_t>() == 3);
  CHECK(randperm(1, generator).item<int64_t>() == 0);
}

TEST_CASE("random: bad arguments throw and draw nothing") {
  Generator generator(21);
  using Error = std::invalid_argument;
  CHECK_THROWS_WITH_AS(
      rand({2}, kInt64, generator),
      "rand: dtype must be float32 or float64, got int64",
      Error);
  CHECK_THROWS_WITH_AS(
      randn({2}, kBool, generator),
      "randn: dtype must be float32 or float64, got bool",
      Error);
  CHECK_THROWS_AS(rand({2, -1}, kFloat32, generator), Error);
  CHECK_THROWS_WITH_AS(
      randint(3, 3, {2}, kInt64, generator),
      "randint: low must be below high, got 3 and 3",
      Error);
  CHECK_THROWS_AS(randint(4, -4, {2}, kInt64, generator), Error);
  CHECK_THROWS_AS(randint(0, 2, {2}, kBool, generator), Error);
  CHECK_THROWS_WITH_AS(
      randint(0, 16'777'217, {2}, kFloat32, generator),
      "randint: low and high must be within +-16777216, where float32 holds "
      "all integers, got 0 and 16777217",
      Error);
  CHECK_THROWS_WITH_AS(
      randperm(-1, generator), "randperm: n must be >= 0, got -1", Error);
  for (const double p : {-0.1, 1.5, kNaN, kInfinity}) {
    CHECK_THROWS_AS(bernoulli(p, {2}, kFloat32, generator), Error);
    CHECK_THROWS_AS(bernoulli(full({2}, p), generator), Error);
  }
  CHECK_THROWS_WITH_AS(
      bernoulli(1.5, {2}, kFloat32, generator),
      "bernoulli: p must be in [0, 1], got 1.5",
      Error);
  CHECK_THROWS_AS(bernoulli(tensor({0, 1}), generator), Error);
  CHECK_THROWS_AS(bernoulli(Tensor(), generator), Error);
  CHECK(generator.state() == GeneratorState{21, 0});
}

TEST_CASE("uniform_ and normal_: bad arguments throw and leave x alone") {
  Generator generator(22);
  using Error = std::invalid_argument;
  Tensor x = full({3}, 9);
  CHECK_THROWS_WITH_AS(
      uniform_(x, 1.0, 1.0, generator),
      "uniform_: low must be below high, both and their difference finite in "
      "float32, got 1 and 1",
      Error);
  CHECK_THROWS_AS(uniform_(x, 2.0, 1.0, generator), Error);
  CHECK_THROWS_AS(uniform_(x, kNaN, 1.0, generator), Error);
  CHECK_THROWS_AS(uniform_(x, 0.0, kInfinity, generator), Error);
  CHECK_THROWS_AS(uniform_(x, -3e38, 3e38, generator), Error);
  CHECK_THROWS_AS(uniform_(x, 1.0, 1.0 + 1e-12, generator), Error);
  CHECK_THROWS_WITH_AS(
      normal_(x, 0.0, -1.0, generator),
      "normal_: mean must be finite, std finite and >= 0, got 0 and -1",
      Error);
  CHECK_THROWS_AS(normal_(x, kNaN, 1.0, generator), Error);
  CHECK_THROWS_AS(normal_(x, 0.0, kNaN, generator), Error);
  CHECK_THROWS_AS(normal_(x, 0.0, 1e300, generator), Error);
  CHECK(x.to_vector<float>() == std::vector<float>(3, 9.0f));

  Tensor integers = zeros({3}, kInt64);
  CHECK_THROWS_AS(uniform_(integers, 0.0, 1.0, generator), Error);
  Tensor undefined;
  CHECK_THROWS_AS(normal_(undefined, 0.0, 1.0, generator), Error);
  Tensor repeated = zeros({1}).expand({4});
  CHECK_THROWS_AS(uniform_(repeated, 0.0, 1.0, generator), Error);
  CHECK_THROWS_AS(normal_(repeated, 0.0, 1.0, generator), Error);
  CHECK(generator.state() == GeneratorState{22, 0});
}

}  // namespace
