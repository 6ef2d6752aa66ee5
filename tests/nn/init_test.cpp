#include "nn/init.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <stdexcept>
#include <vector>

#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tests/parity/parity.h"

using namespace heed;

namespace {

struct Moments {
  double mean = 0, std = 0, largest = 0;
};

/// Of as many draws as give about 100,000 numbers.
Moments moments_of(int64_t numel, const std::function<Tensor()>& draw) {
  Moments m;
  double n = 0;
  while (n < 1e5) {
    for (const double x : draw().to_vector<double>()) {
      m.mean += x;
      m.std += x * x;
      m.largest = std::max(m.largest, std::abs(x));
    }
    n += static_cast<double>(numel);
  }
  m.mean /= n;
  m.std = std::sqrt(m.std / n - m.mean * m.mean);
  return m;
}

init::Nonlinearity nonlinearity_of(const ParityCase& c) {
  const std::string name = c.options().at("nonlinearity");
  return name == "linear" ? init::Nonlinearity::linear
         : name == "relu" ? init::Nonlinearity::relu
                          : init::Nonlinearity::tanh;
}

void check_uniform(const Moments& m, double bound) {
  CHECK(m.largest <= bound * (1 + 1e-6));
  CHECK(m.largest >= bound * 0.999);
  CHECK(m.std == doctest::Approx(bound / std::sqrt(3.0)).epsilon(0.01));
  CHECK(std::abs(m.mean) < 0.01 * bound);
}

void check_normal(const Moments& m, double std) {
  CHECK(m.std == doctest::Approx(std).epsilon(0.01));
  CHECK(std::abs(m.mean) < 0.015 * std);
  CHECK(m.largest > 3.5 * std);  // no uniform numbers
}

}  // namespace

TEST_CASE("init: Xavier's and Kaiming's bounds and deviations are PyTorch's") {
  Generator generator(3);
  for (const ParityCase& c : Parity::load("initialisers")) {
    CAPTURE(c.name());
    const nlohmann::json& o = c.options();
    const Shape shape(Dims(o.at("shape").get<std::vector<int64_t>>()));
    const double gain = o.at("gain");
    const init::InitOptions options{kFloat32, generator};
    if (c.name().starts_with("xavier")) {
      check_uniform(
          moments_of(
              shape.numel(),
              [&] { return init::xavier_uniform(shape, gain, options); }),
          o.at("bound"));
      check_normal(
          moments_of(
              shape.numel(),
              [&] { return init::xavier_normal(shape, gain, options); }),
          o.at("std"));
    } else {
      REQUIRE(c.name().starts_with("kaiming"));
      const init::Nonlinearity kind = nonlinearity_of(c);
      check_uniform(
          moments_of(
              shape.numel(),
              [&] { return init::kaiming_uniform(shape, kind, options); }),
          o.at("bound"));
      check_normal(
          moments_of(
              shape.numel(),
              [&] { return init::kaiming_normal(shape, kind, options); }),
          o.at("std"));
    }
  }
}

TEST_CASE("init: further sizes of a weight multiply both fans") {
  Generator generator(3);
  const Shape shape({8, 4, 3, 5});  // fan_in 60, fan_out 120
  const init::InitOptions options{kFloat64, generator};
  check_uniform(
      moments_of(
          shape.numel(),
          [&] { return init::xavier_uniform(shape, 1, options); }),
      std::sqrt(6.0 / 180));
  check_normal(
      moments_of(
          shape.numel(),
          [&] {
            return init::kaiming_normal(
                shape, init::Nonlinearity::linear, options);
          }),
      std::sqrt(1.0 / 60));
}

TEST_CASE("init: uniform, normal and constant are as asked for") {
  Generator generator(3);
  const init::InitOptions options{kFloat64, generator};
  const Moments u =
      moments_of(1000, [&] { return init::uniform({1000}, 2, 4, options); });
  CHECK(u.mean == doctest::Approx(3).epsilon(0.01));
  CHECK(u.std == doctest::Approx(2 / std::sqrt(12.0)).epsilon(0.01));
  CHECK(u.largest < 4);
  const Moments n =
      moments_of(1000, [&] { return init::normal({1000}, -1, 0.5, options); });
  CHECK(n.mean == doctest::Approx(-1).epsilon(0.01));
  CHECK(n.std == doctest::Approx(0.5).epsilon(0.01));
  CHECK(equal(
      init::constant({2}, 0.25, options), tensor({0.25, 0.25}, kFloat64)));
}

TEST_CASE("init: the same seed gives the same bits") {
  Generator a(5), b(5);
  CHECK(equal(
      init::xavier_uniform({20, 30}, 1, {kFloat32, a}),
      init::xavier_uniform({20, 30}, 1, {kFloat32, b})));
  CHECK_FALSE(equal(
      init::xavier_uniform({20, 30}, 1, {kFloat32, a}),
      init::xavier_uniform({20, 30}, 2, {kFloat32, b})));
}

TEST_CASE("init: what makes no sense is an error") {
  CHECK_THROWS_AS(init::xavier_uniform({3}), std::invalid_argument);
  CHECK_THROWS_AS(init::xavier_normal({}), std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      init::kaiming_uniform({0, 3}),
      "kaiming_uniform: a weight must have shape [fan_out, fan_in, ...], got "
      "[0, 3]",
      std::invalid_argument);
  CHECK_THROWS_AS(init::kaiming_normal({3, 0}), std::invalid_argument);
  CHECK_THROWS_AS(init::uniform({3}, 1, 0), std::invalid_argument);
  CHECK_THROWS_AS(init::uniform({3}, NAN, 0), std::invalid_argument);
  CHECK_THROWS_AS(init::normal({3}, 0, -1), std::invalid_argument);
  CHECK_THROWS_AS(init::xavier_uniform({3, 2}, -1), std::invalid_argument);
  CHECK_THROWS_AS(
      init::uniform({3}, 0, 1, {.dtype = kInt64}), std::invalid_argument);
}
