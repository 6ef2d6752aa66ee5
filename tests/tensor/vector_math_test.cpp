#include "tensor/vector_math.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

#include "tensor/simd.h"

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

template <typename Function>
void apply(const float* x, float* y, int64_t n, Function function) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    y[i] = function(x[i]);
  }
}

/// The function at the SIMD level in use, as kernels have it.
template <typename Function>
std::vector<float> values(
    const Function& function, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  simd::call<apply<Function>>(
      x.data(), y.data(), static_cast<int64_t>(x.size()), function);
  return y;
}

template <typename Function>
float value(const Function& function, float x) {
  return values(function, std::vector<float>(64, x)).back();
}

/// The worst error over every 1999th float, and over all floats within 3,000
/// of those where something begins or ends.
template <typename Function, typename Reference>
Worst worst_error(
    const Function& function,
    const Reference& reference,
    std::initializer_list<float> edges) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 1999) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  for (const float edge : edges) {
    for (const float end : {edge, -edge}) {
      for (uint32_t i = 0; i < 6000; ++i) {
        x.push_back(
            std::bit_cast<float>(std::bit_cast<uint32_t>(end) - 3000 + i));
      }
    }
  }
  const std::vector<float> y = values(function, x);
  Worst worst;
  for (size_t i = 0; i < x.size(); ++i) {
    const double ulp = ulp_error(y[i], reference(double{x[i]}));
    if (!(ulp <= worst.ulp)) {
      worst = {ulp, x[i]};
    }
  }
  return worst;
}

constexpr auto kExp = [](float x) { return vector_math::exp(x); };
constexpr auto kLog = [](float x) { return vector_math::log(x); };
constexpr auto kTanh = [](float x) { return vector_math::tanh(x); };
constexpr auto kSigmoid = [](float x) { return vector_math::sigmoid(x); };
constexpr auto kErf = [](float x) { return vector_math::erf(x); };

double sigmoid_reference(double x) { return 1.0 / (1.0 + std::exp(-x)); }

constexpr float kSmallestNormal = std::numeric_limits<float>::min();

TEST_CASE("vector_math: exp is within 1 ulp on all floats") {
  const Worst worst = worst_error(
      kExp,
      [](double x) { return std::exp(x); },
      {0.0f, 0.34657359f, 1.0f, 87.3365448f, 88.7228394f, 103.972084f});
  INFO("worst error ", worst.ulp, " ulp at ", worst.at);
  CHECK(worst.ulp <= 1.0);
}

TEST_CASE("vector_math: exp_up_to_40 has the bits of exp") {
  std::vector<float> x{
      0.0f, 40.0f, -kInfinity, std::numeric_limits<float>::quiet_NaN()};
  constexpr auto kSign = uint64_t{1} << 31;
  for (uint64_t bits = 0; bits <= std::bit_cast<uint32_t>(40.0f); bits += 997) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  for (uint64_t bits = kSign; bits < uint64_t{1} << 32; bits += 97) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  const std::vector<float> expected = values(kExp, x);
  const std::vector<float> y =
      values([](float v) { return vector_math::exp_up_to_40(v); }, x);
  int64_t wrong = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool same =
        std::bit_cast<uint32_t>(y[i]) == std::bit_cast<uint32_t>(expected[i]);
    wrong += same || (std::isnan(y[i]) && std::isnan(expected[i])) ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("vector_math: log is within 1 ulp on all floats") {
  const Worst worst = worst_error(
      kLog,
      [](double x) { return std::log(x); },
      {0.0f, kSmallestNormal, 0.70710678f, 1.0f, 1.41421356f, kInfinity});
  INFO("worst error ", worst.ulp, " ulp at ", worst.at);
  CHECK(worst.ulp <= 1.0);
}

TEST_CASE("vector_math: tanh is within 1.5 ulp on all floats") {
  const Worst worst = worst_error(
      kTanh,
      [](double x) { return std::tanh(x); },
      {0.0f, kSmallestNormal, 0.625f, 1.0f, 9.01f, kInfinity});
  INFO("worst error ", worst.ulp, " ulp at ", worst.at);
  CHECK(worst.ulp <= 1.5);
}

TEST_CASE("vector_math: sigmoid is within 2.2 ulp on all floats") {
  const Worst worst = worst_error(
      kSigmoid,
      sigmoid_reference,
      {0.0f, 1.0f, 16.6f, 87.3365448f, 88.7228394f, 103.972084f});
  INFO("worst error ", worst.ulp, " ulp at ", worst.at);
  CHECK(worst.ulp <= 2.2);
}

TEST_CASE("vector_math: erf is within 1.5 ulp on all floats") {
  const Worst worst = worst_error(
      kErf,
      [](double x) { return std::erf(x); },
      {0.0f, kSmallestNormal, 1.0f, 3.93f, kInfinity});
  INFO("worst error ", worst.ulp, " ulp at ", worst.at);
  CHECK(worst.ulp <= 1.5);
}

TEST_CASE("vector_math: infinities and NaN give what the limits are") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(value(kExp, kInfinity) == kInfinity);
  CHECK(value(kExp, -kInfinity) == 0.0f);
  CHECK(value(kExp, 88.72283f) < kInfinity);
  CHECK(value(kExp, 88.72284f) == kInfinity);
  CHECK(value(kExp, -103.0f) > 0.0f);
  CHECK(value(kLog, 0.0f) == -kInfinity);
  CHECK(value(kLog, -0.0f) == -kInfinity);
  CHECK(value(kLog, kInfinity) == kInfinity);
  CHECK(std::isnan(value(kLog, -1.0f)));
  CHECK(std::isnan(value(kLog, -kInfinity)));
  CHECK(value(kTanh, kInfinity) == 1.0f);
  CHECK(value(kTanh, -kInfinity) == -1.0f);
  CHECK(value(kSigmoid, kInfinity) == 1.0f);
  CHECK(value(kSigmoid, -kInfinity) == 0.0f);
  CHECK(value(kErf, kInfinity) == 1.0f);
  CHECK(value(kErf, -kInfinity) == -1.0f);
  for (const float x : {nan, -nan}) {
    CHECK(std::isnan(value(kExp, x)));
    CHECK(std::isnan(value(kLog, x)));
    CHECK(std::isnan(value(kTanh, x)));
    CHECK(std::isnan(value(kSigmoid, x)));
    CHECK(std::isnan(value(kErf, x)));
  }
}

TEST_CASE("vector_math: whole numbers that must be exact are") {
  CHECK(value(kExp, 0.0f) == 1.0f);
  CHECK(value(kLog, 1.0f) == 0.0f);
  CHECK(value(kSigmoid, 0.0f) == 0.5f);
  for (const float zero : {0.0f, -0.0f}) {
    CHECK(std::signbit(value(kTanh, zero)) == std::signbit(zero));
    CHECK(std::signbit(value(kErf, zero)) == std::signbit(zero));
  }
}

TEST_CASE("vector_math: tanh and erf are odd, to the bit") {
  for (float x = 0.0f; x < 12.0f; x += 0.00371f) {
    CHECK(value(kTanh, -x) == -value(kTanh, x));
    CHECK(value(kErf, -x) == -value(kErf, x));
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
