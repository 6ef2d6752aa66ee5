#include "tensor/vector_math.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace {

using namespace heed;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Worst {
  double ulp = 0.0;
  float at = 0.0f;
};

/// Distance of y from the true value in units of the last place of the true
/// value; infinite when only one is NaN, infinite or a zero of that sign.
double ulp_error(float y, double truth) {
  const auto rounded = static_cast<float>(truth);
  if (std::isnan(rounded)) {
    return std::isnan(y) ? 0.0 : HUGE_VAL;
  }
  if (std::isinf(rounded) || rounded == 0.0f) {
    const bool same = y == rounded && std::signbit(y) == std::signbit(rounded);
    return same ? 0.0 : HUGE_VAL;
  }
  int exponent = 0;
  std::frexp(truth, &exponent);
  const double ulp = std::ldexp(1.0, std::max(exponent - 24, -149));
  return std::fabs(y - truth) / ulp;
}

/// The worst error over every 1999th float, and over all floats within 3,000
/// of those where something begins or ends.
template <typename Function, typename Reference>
Worst worst_error(
    const Function& function,
    const Reference& reference,
    std::initializer_list<float> edges) {
  Worst worst;
  const auto look = [&](uint32_t bits) {
    const float x = std::bit_cast<float>(bits);
    const double ulp = ulp_error(function(x), reference(double{x}));
    if (!(ulp <= worst.ulp)) {
      worst = {ulp, x};
    }
  };
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 1999) {
    look(static_cast<uint32_t>(bits));
  }
  for (const float edge : edges) {
    for (const float x : {edge, -edge}) {
      for (uint32_t i = 0; i < 6000; ++i) {
        look(std::bit_cast<uint32_t>(x) - 3000 + i);
      }
    }
  }
  return worst;
}

double sigmoid_reference(double x) { return 1.0 / (1.0 + std::exp(-x)); }

constexpr float kSmallestNormal = std::numeric_limits<float>::min();

TEST_CASE("vector_math: exp is within 1 ulp on all floats") {
  const Worst worst = worst_error(
      [](float x) { return vector_math::exp(x); },
      [](double x) { return std::exp(x); },
      {0.0f, 0.34657359f, 1.0f, 87.3365448f, 88.7228394f, 103.972084f});
  INFO("worst error ", worst.ulp, " ulp at ", worst.at);
  CHECK(worst.ulp <= 1.0);
}

TEST_CASE("vector_math: log is within 1 ulp on all floats") {
  const Worst worst = worst_error(
      [](float x) { return vector_math::log(x); },
      [](double x) { return std::log(x); },
      {0.0f, kSmallestNormal, 0.70710678f, 1.0f, 1.41421356f, kInfinity});
  INFO("worst error ", worst.ulp, " ulp at ", worst.at);
  CHECK(worst.ulp <= 1.0);
}

TEST_CASE("vector_math: tanh is within 1.5 ulp on all floats") {
  const Worst worst = worst_error(
      [](float x) { return vector_math::tanh(x); },
      [](double x) { return std::tanh(x); },
      {0.0f, kSmallestNormal, 0.625f, 1.0f, 9.01f, kInfinity});
  INFO("worst error ", worst.ulp, " ulp at ", worst.at);
  CHECK(worst.ulp <= 1.5);
}

TEST_CASE("vector_math: sigmoid is within 2.2 ulp on all floats") {
  const Worst worst = worst_error(
      [](float x) { return vector_math::sigmoid(x); },
      sigmoid_reference,
      {0.0f, 1.0f, 16.6f, 87.3365448f, 88.7228394f, 103.972084f});
  INFO("worst error ", worst.ulp, " ulp at ", worst.at);
  CHECK(worst.ulp <= 2.2);
}

TEST_CASE("vector_math: erf is within 1.5 ulp on all floats") {
  const Worst worst = worst_error(
      [](float x) { return vector_math::erf(x); },
      [](double x) { return std::erf(x); },
      {0.0f, kSmallestNormal, 1.0f, 3.93f, kInfinity});
  INFO("worst error ", worst.ulp, " ulp at ", worst.at);
  CHECK(worst.ulp <= 1.5);
}

TEST_CASE("vector_math: infinities and NaN give what the limits are") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(vector_math::exp(kInfinity) == kInfinity);
  CHECK(vector_math::exp(-kInfinity) == 0.0f);
  CHECK(vector_math::exp(88.72283f) < kInfinity);
  CHECK(vector_math::exp(88.72284f) == kInfinity);
  CHECK(vector_math::exp(-103.0f) > 0.0f);
  CHECK(vector_math::log(0.0f) == -kInfinity);
  CHECK(vector_math::log(-0.0f) == -kInfinity);
  CHECK(vector_math::log(kInfinity) == kInfinity);
  CHECK(std::isnan(vector_math::log(-1.0f)));
  CHECK(std::isnan(vector_math::log(-kInfinity)));
  CHECK(vector_math::tanh(kInfinity) == 1.0f);
  CHECK(vector_math::tanh(-kInfinity) == -1.0f);
  CHECK(vector_math::sigmoid(kInfinity) == 1.0f);
  CHECK(vector_math::sigmoid(-kInfinity) == 0.0f);
  CHECK(vector_math::erf(kInfinity) == 1.0f);
  CHECK(vector_math::erf(-kInfinity) == -1.0f);
  for (const float x : {nan, -nan}) {
    CHECK(std::isnan(vector_math::exp(x)));
    CHECK(std::isnan(vector_math::log(x)));
    CHECK(std::isnan(vector_math::tanh(x)));
    CHECK(std::isnan(vector_math::sigmoid(x)));
    CHECK(std::isnan(vector_math::erf(x)));
  }
}

TEST_CASE("vector_math: whole numbers that must be exact are") {
  CHECK(vector_math::exp(0.0f) == 1.0f);
  CHECK(vector_math::log(1.0f) == 0.0f);
  CHECK(vector_math::sigmoid(0.0f) == 0.5f);
  for (const float zero : {0.0f, -0.0f}) {
    CHECK(std::signbit(vector_math::tanh(zero)) == std::signbit(zero));
    CHECK(std::signbit(vector_math::erf(zero)) == std::signbit(zero));
  }
}

TEST_CASE("vector_math: tanh and erf are odd, to the bit") {
  for (float x = 0.0f; x < 12.0f; x += 0.00371f) {
    CHECK(vector_math::tanh(-x) == -vector_math::tanh(x));
    CHECK(vector_math::erf(-x) == -vector_math::erf(x));
  }
}

TEST_CASE("vector_math: double functions are accurate to double precision") {
  for (double x = -30.0; x < 30.0; x += 0.37) {
    CHECK(vector_math::exp(x) == std::exp(x));
    CHECK(vector_math::tanh(x) == std::tanh(x));
    CHECK(vector_math::erf(x) == std::erf(x));
    CHECK(
        vector_math::sigmoid(x) ==
        doctest::Approx(sigmoid_reference(x)).epsilon(1e-15));
  }
  CHECK(vector_math::log(0.5) == std::log(0.5));
  CHECK(vector_math::sigmoid(-800.0) == 0.0);
  CHECK(vector_math::sigmoid(800.0) == 1.0);
}

}  // namespace
