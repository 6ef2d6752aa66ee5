#include "tensor/generator.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numbers>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tensor/parallel.h"

namespace {

using namespace heed;

constexpr double kTwoPi = 2.0 * std::numbers::pi;

/// Kolmogorov and Smirnov's distance from a distribution function, times
/// sqrt(n): above 1.95 once in a thousand draws.
template <typename T, typename Cdf>
double ks_statistic(std::vector<T> x, const Cdf& cdf) {
  std::sort(x.begin(), x.end());
  const auto n = static_cast<double>(x.size());
  double distance = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double p = cdf(static_cast<double>(x[i]));
    distance = std::max(distance, p - static_cast<double>(i) / n);
    distance = std::max(distance, static_cast<double>(i + 1) / n - p);
  }
  return distance * std::sqrt(n);
}

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

template <typename T>
double moment(const std::vector<T>& x, int power) {
  double sum = 0.0;
  for (const T value : x) {
    sum += std::pow(static_cast<double>(value), power);
  }
  return sum / static_cast<double>(x.size());
}

template <typename T>
std::vector<T> normals(size_t n, uint64_t seed) {
  Generator generator(seed);
  std::vector<T> x(n);
  fill_normal(x.data(), static_cast<int64_t>(n), T{0}, T{1}, generator);
  return x;
}

template <typename T>
std::vector<T> uniforms(size_t n, uint64_t seed) {
  Generator generator(seed);
  std::vector<T> x(n);
  fill_uniform(x.data(), static_cast<int64_t>(n), T{0}, T{1}, generator);
  return x;
}

std::vector<uint32_t> words_of(const GeneratorState& start, int64_t batches) {
  std::vector<uint32_t> words(static_cast<size_t>(64 * batches));
  for (int64_t batch = 0; batch < batches; ++batch) {
    random_words(start, batch, words.data() + 64 * batch);
  }
  return words;
}

TEST_CASE(
    "Generator: reserve takes whole blocks and returns the state before") {
  Generator generator(5);
  CHECK(generator.reserve(0) == GeneratorState{5, 0});
  CHECK(generator.reserve(1) == GeneratorState{5, 0});
  CHECK(generator.reserve(4) == GeneratorState{5, 1});
  CHECK(generator.reserve(5) == GeneratorState{5, 2});
  CHECK(generator.state() == GeneratorState{5, 4});
  generator.set_seed(6);
  CHECK(generator.state() == GeneratorState{6, 0});
  CHECK_THROWS_WITH_AS(
      generator.reserve(-1),
      "Generator: reserve takes words >= 0, got -1",
      std::invalid_argument);
  CHECK(generator.state() == GeneratorState{6, 0});
}

TEST_CASE("Generator: unseeded ones start from the documented seed") {
  CHECK(Generator().state() == GeneratorState{170603762, 0});
  CHECK(&default_generator() == &default_generator());
}

TEST_CASE("Generator: manual_seed seeds the default generator anew") {
  const GeneratorState before = default_generator().state();
  manual_seed(17);
  std::vector<float> a(10);
  fill_uniform(a.data(), 10, 0.0f, 1.0f, default_generator());
  manual_seed(17);
  std::vector<float> b(10);
  fill_uniform(b.data(), 10, 0.0f, 1.0f, default_generator());
  CHECK(a == b);
  CHECK(a == uniforms<float>(10, 17));
  default_generator().set_state(before);
}

TEST_CASE("Generator: a restored state continues the same numbers") {
  Generator generator(3);
  std::vector<float> skipped(101);
  fill_normal(skipped.data(), 101, 0.0f, 1.0f, generator);
  const GeneratorState state = generator.state();
  std::vector<double> first(57);
  fill_normal(first.data(), 57, 0.0, 1.0, generator);
  Generator other;
  other.set_state(state);
  std::vector<double> again(57);
  fill_normal(again.data(), 57, 0.0, 1.0, other);
  CHECK(first == again);
  CHECK(generator.state() == other.state());
}

TEST_CASE("Generator: threads that reserve at once never share a block") {
  Generator generator(1);
  std::array<std::vector<uint64_t>, 4> offsets;
  std::vector<std::thread> threads;
  for (std::vector<uint64_t>& mine : offsets) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        mine.push_back(generator.reserve(8).offset);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::set<uint64_t> all;
  for (const std::vector<uint64_t>& mine : offsets) {
    all.insert(mine.begin(), mine.end());
  }
  CHECK(all.size() == 4000);
  CHECK(*all.rbegin() == 7998);
  CHECK(generator.state().offset == 8000);
}

TEST_CASE("Generator: successive draws are other numbers") {
  Generator generator(1);
  std::vector<float> a(1000);
  std::vector<float> b(1000);
  fill_uniform(a.data(), 1000, 0.0f, 1.0f, generator);
  fill_uniform(b.data(), 1000, 0.0f, 1.0f, generator);
  int equal = 0;
  for (size_t i = 0; i < 1000; ++i) {
    equal += a[i] == b[i];
  }
  CHECK(equal == 0);
}

TEST_CASE("fill: the same bits for 1, 2 and 4 threads") {
  constexpr int64_t kNumbers = 40'007;
  const int threads_before = num_threads();
  const auto draw = [](int threads) {
    set_num_threads(threads);
    Generator generator(99);
    std::vector<float> floats(2 * kNumbers);
    fill_uniform(floats.data(), kNumbers, -1.0f, 3.0f, generator);
    fill_normal(floats.data() + kNumbers, kNumbers, 0.5f, 2.0f, generator);
    std::vector<double> doubles(2 * kNumbers);
    fill_uniform(doubles.data(), kNumbers, -1.0, 3.0, generator);
    fill_normal(doubles.data() + kNumbers, kNumbers, 0.5, 2.0, generator);
    std::vector<int64_t> integers(kNumbers);
    fill_index(integers.data(), kNumbers, -7, 12, generator);
    const auto truths = std::make_unique<bool[]>(kNumbers);
    fill_bernoulli(truths.get(), kNumbers, 0.3, generator);
    integers.insert(integers.end(), truths.get(), truths.get() + kNumbers);
    return std::tuple(floats, doubles, integers);
  };
  const auto one = draw(1);
  const auto two = draw(2);
  const auto four = draw(4);
  set_num_threads(threads_before);
  CHECK((one == two));
  CHECK((one == four));
}

/// FNV-1a over the bytes of the numbers.
template <typename T>
uint64_t hash_of(const std::vector<T>& x) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto* bytes = reinterpret_cast<const unsigned char*>(x.data());
  for (size_t i = 0; i < x.size() * sizeof(T); ++i) {
    hash = (hash ^ bytes[i]) * 0x100000001b3;
  }
  return hash;
}

TEST_CASE("fill: the same bits at every SIMD level") {
  Generator generator(11);
  std::vector<float> x(10007);
  const auto n = static_cast<int64_t>(x.size());
  fill_normal(x.data(), n, 0.3f, 1.7f, generator);
  CHECK(hash_of(x) == 5441623519073723503);
  fill_uniform(x.data(), n, -0.7f, 1.9f, generator);
  CHECK(hash_of(x) == 516147202373140615);
  std::vector<double> wide(10007);
  fill_uniform(wide.data(), n, -0.7, 1.9, generator);
  CHECK(hash_of(wide) == 2708691782581766231);
}

TEST_CASE("fill: a short draw is a prefix of a long one") {
  const std::vector<float> long_floats = normals<float>(1000, 4);
  const std::vector<double> long_doubles = normals<double>(1000, 4);
  for (const size_t n : {0, 1, 3, 63, 64, 65, 999}) {
    const std::vector<float> floats = normals<float>(n, 4);
    CHECK(std::equal(floats.begin(), floats.end(), long_floats.begin()));
    const std::vector<double> doubles = normals<double>(n, 4);
    CHECK(std::equal(doubles.begin(), doubles.end(), long_doubles.begin()));
  }
}

TEST_CASE("fill: nothing is written beyond the n numbers") {
  Generator generator(8);
  for (const size_t n : {0, 1, 31, 32, 33, 64, 70}) {
    std::vector<float> floats(n + 1, 9.0f);
    fill_normal(floats.data(), static_cast<int64_t>(n), 0.0f, 1.0f, generator);
    CHECK(floats[n] == 9.0f);
    std::vector<int64_t> integers(n + 1, 9);
    fill_index(integers.data(), static_cast<int64_t>(n), 0, 5, generator);
    CHECK(integers[n] == 9);
  }
}

TEST_CASE("fill: a negative count throws and takes nothing") {
  Generator generator(8);
  float number = 7.0f;
  CHECK_THROWS_AS(
      fill_uniform(&number, -1, 0.0f, 1.0f, generator), std::invalid_argument);
  CHECK_THROWS_AS(
      fill_normal(&number, -64, 0.0f, 1.0f, generator), std::invalid_argument);
  CHECK(number == 7.0f);
  CHECK(generator.state() == GeneratorState{8, 0});
}

TEST_CASE("fill_uniform: float and double are uniform in [0, 1)") {
  const auto check = [](const auto& x) {
    CHECK(*std::min_element(x.begin(), x.end()) >= 0);
    CHECK(*std::max_element(x.begin(), x.end()) < 1);
    CHECK(ks_statistic(x, [](double v) { return v; }) < 1.95);
    const double n = static_cast<double>(x.size());
    // Standard errors: sqrt(1/12 / n) and sqrt(4/45 / n).
    CHECK(std::fabs(moment(x, 1) - 0.5) < 4 * std::sqrt(1 / 12.0 / n));
    CHECK(std::fabs(moment(x, 2) - 1 / 3.0) < 4 * std::sqrt(4 / 45.0 / n));
  };
  check(uniforms<float>(200'000, 11));
  check(uniforms<double>(200'000, 12));
}

TEST_CASE("fill_uniform: float has 24 bits, double has 53") {
  bool odd24 = false;
  for (const float x : uniforms<float>(1000, 13)) {
    const double steps = std::ldexp(x, 24);
    CHECK(steps == std::floor(steps));
    odd24 = odd24 || std::fmod(steps, 2.0) == 1.0;
  }
  CHECK(odd24);
  bool odd53 = false;
  for (const double x : uniforms<double>(1000, 13)) {
    const double steps = std::ldexp(x, 53);
    CHECK(steps == std::floor(steps));
    odd53 = odd53 || std::fmod(steps, 2.0) == 1.0;
  }
  CHECK(odd53);
}

TEST_CASE("fill_uniform: the upper bound is never reached by rounding") {
  Generator generator(14);
  const float next = std::nextafter(1.0f, 2.0f);
  std::vector<float> x(1000);
  fill_uniform(x.data(), 1000, 1.0f, next, generator);
  CHECK(std::all_of(x.begin(), x.end(), [](float v) { return v == 1.0f; }));
  fill_uniform(x.data(), 1000, 1e6f, 1e6f + 0.25f, generator);
  CHECK(std::all_of(x.begin(), x.end(), [](float v) {
    return v >= 1e6f && v < 1e6f + 0.25f;
  }));
}

TEST_CASE("fill_normal: float and double are standard normal") {
  const auto check = [](const auto& x) {
    CHECK(ks_statistic(x, normal_cdf) < 1.95);
    const double n = static_cast<double>(x.size());
    // Variances of the powers: 1, 2, 15, 96.
    CHECK(std::fabs(moment(x, 1)) < 4 * std::sqrt(1 / n));
    CHECK(std::fabs(moment(x, 2) - 1) < 4 * std::sqrt(2 / n));
    CHECK(std::fabs(moment(x, 3)) < 4 * std::sqrt(15 / n));
    CHECK(std::fabs(moment(x, 4) - 3) < 4 * std::sqrt(96 / n));
    double product = 0.0;  // of the two numbers of a pair
    for (size_t i = 0; i < x.size(); i += 2) {
      product += x[i] * x[i + 1];
    }
    CHECK(std::fabs(product / (n / 2)) < 4 * std::sqrt(2 / n));
  };
  check(normals<float>(200'000, 21));
  check(normals<double>(200'000, 22));
}

TEST_CASE("fill_normal: the tail beyond 4 is as heavy as it must be") {
  const std::vector<float> x = normals<float>(2'000'000, 23);
  const auto beyond = [&](float limit) {
    return static_cast<double>(std::count_if(
        x.begin(), x.end(), [&](float v) { return std::fabs(v) > limit; }));
  };
  for (const float limit : {3.0f, 4.0f}) {
    const double expected =
        2e6 * std::erfc(double{limit} / std::numbers::sqrt2);
    CHECK(std::fabs(beyond(limit) - expected) < 4 * std::sqrt(expected));
  }
  CHECK(beyond(std::numeric_limits<float>::max()) == 0);
  CHECK(
      std::none_of(x.begin(), x.end(), [](float v) { return std::isnan(v); }));
}

TEST_CASE("fill_normal: float pairs are Box and Muller's to a few ulp") {
  constexpr int64_t kBatches = 4000;
  const std::vector<uint32_t> words = words_of({24, 0}, kBatches);
  const std::vector<float> x = normals<float>(words.size(), 24);
  double worst = 0.0;
  for (size_t i = 0; i < words.size(); i += 2) {
    const double u = (words[i] + 0.5) * 0x1p-32;
    const double angle = kTwoPi * words[i + 1] * 0x1p-32;
    const double radius = std::sqrt(-2 * std::log(u));
    // Rounding u to a float moves the radius by d ln(u) / radius.
    const double tolerance = 0x1p-24 * (3 * radius + 1 / radius);
    worst = std::max(
        {worst,
         std::fabs(x[i] - radius * std::cos(angle)) / tolerance,
         std::fabs(x[i + 1] - radius * std::sin(angle)) / tolerance});
  }
  INFO("worst error over its bound: ", worst);
  CHECK(worst < 1.0);
}

TEST_CASE("fill_normal: mean and std shift and stretch") {
  const std::vector<double> standard = normals<double>(50, 25);
  Generator generator(25);
  std::vector<double> x(50);
  fill_normal(x.data(), 50, -3.0, 0.25, generator);
  for (size_t i = 0; i < 50; ++i) {
    CHECK(x[i] == doctest::Approx(-3.0 + 0.25 * standard[i]).epsilon(1e-14));
  }
}

TEST_CASE("fill_index: every integer of the interval is equally likely") {
  Generator generator(31);
  constexpr int64_t kNumbers = 70'000;
  std::vector<int64_t> x(kNumbers);
  fill_index(x.data(), kNumbers, -3, 4, generator);
  std::array<int, 7> counts{};
  for (const int64_t value : x) {
    REQUIRE(value >= -3);
    REQUIRE(value < 4);
    ++counts[static_cast<size_t>(value + 3)];
  }
  double chi_square = 0.0;  // 6 degrees of freedom: above 22.5 once in 1,000
  for (const int count : counts) {
    chi_square += (count - 1e4) * (count - 1e4) / 1e4;
  }
  CHECK(chi_square < 22.5);
}

TEST_CASE("uniform_index: huge ranges are not biased either") {
  // Without refusals the multiples of 3 would come half of the time.
  constexpr uint64_t kRange = uint64_t{3} << 62;
  std::array<int, 3> counts{};
  for (uint64_t i = 0; i < 30'000; ++i) {
    const uint64_t x = uniform_index({32, 0}, i, kRange);
    REQUIRE(x < kRange);
    ++counts[x % 3];
  }
  for (const int count : counts) {
    CHECK(std::abs(count - 10'000) < 4 * 82);
  }
}

TEST_CASE("fill_index: agrees with uniform_index, refusals included") {
  Generator generator(33);
  constexpr int64_t kLow = std::numeric_limits<int64_t>::min();
  constexpr int64_t kHigh = int64_t{1} << 62;
  std::vector<int64_t> x(500);
  fill_index(x.data(), 500, kLow, kHigh, generator);
  for (uint64_t i = 0; i < 500; ++i) {
    const uint64_t below = uniform_index({33, 0}, i, uint64_t{3} << 62);
    CHECK(static_cast<uint64_t>(x[i]) == static_cast<uint64_t>(kLow) + below);
  }
}

TEST_CASE("fill_index: the widest interval and the narrowest") {
  Generator generator(34);
  std::vector<int64_t> x(500);
  fill_index(x.data(), 500, 6, 7, generator);
  CHECK(std::all_of(x.begin(), x.end(), [](int64_t v) { return v == 6; }));
  using Limits = std::numeric_limits<int64_t>;
  fill_index(x.data(), 500, Limits::min(), Limits::max(), generator);
  CHECK(*std::min_element(x.begin(), x.end()) < -(int64_t{1} << 61));
  CHECK(*std::max_element(x.begin(), x.end()) > int64_t{1} << 61);
}

TEST_CASE("probability_threshold: exact at both ends and to 2^-32 between") {
  CHECK(probability_threshold(0.0) == 0);
  CHECK(probability_threshold(1.0) == uint64_t{1} << 32);
  CHECK(probability_threshold(0.5) == uint64_t{1} << 31);
  CHECK(probability_threshold(0x1p-32) == 1);
  CHECK(probability_threshold(0.1) == 429496730);
}

TEST_CASE("fill_bernoulli: 0 and 1 are certain, p comes as often as it must") {
  constexpr int64_t kNumbers = 100'000;
  const auto truths = std::make_unique<bool[]>(kNumbers);
  const auto count = [&](double p) {
    Generator generator(41);
    fill_bernoulli(truths.get(), kNumbers, p, generator);
    return std::count(truths.get(), truths.get() + kNumbers, true);
  };
  CHECK(count(0.0) == 0);
  CHECK(count(1.0) == kNumbers);
  for (const double p : {0.01, 0.5, 0.9}) {
    CHECK(
        std::fabs(static_cast<double>(count(p)) - p * kNumbers) <
        4 * std::sqrt(kNumbers * p * (1 - p)));
  }
}

TEST_CASE("keep_bits: bit i is set where word i is not below the threshold") {
  const GeneratorState start{42, 1000};
  const std::vector<uint32_t> words = words_of(start, 20);
  for (const double p : {0.0, 0x1p-31, 0.1, 0.5, 0.999, 1.0}) {
    const uint64_t threshold = probability_threshold(p);
    for (const size_t first : {0, 3}) {
      std::vector<uint64_t> bits(20 - first);
      keep_bits(
          start,
          static_cast<int64_t>(first),
          static_cast<int64_t>(bits.size()),
          threshold,
          bits.data());
      for (size_t i = 0; i < 64 * bits.size(); ++i) {
        CHECK(
            ((bits[i / 64] >> i % 64) & 1) ==
            (words[64 * first + i] >= threshold));
      }
    }
  }
}

TEST_CASE("keep_bits: dropout of 0 keeps all, of 1 nothing, of p its share") {
  const GeneratorState start{43, 0};
  const auto kept = [&](double p) {
    std::vector<uint64_t> bits(1000);
    keep_bits(start, 0, 1000, probability_threshold(p), bits.data());
    int64_t sum = 0;
    for (const uint64_t batch : bits) {
      sum += std::popcount(batch);
    }
    return sum;
  };
  CHECK(kept(0.0) == 64'000);
  CHECK(kept(1.0) == 0);
  CHECK(std::abs(kept(0.1) - 57'600) < 4 * 76);
}

}  // namespace
