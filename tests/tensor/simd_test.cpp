#include "tensor/simd.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "tensor/config.h"

namespace simd = heed::simd;
using simd::Level;

namespace {

template <typename T>
T scaled_sum(const T* x, int n, T scale) {
  T total = 0;
  for (int i = 0; i < n; ++i) {
    total += x[i] * scale;
  }
  return total;
}

}  // namespace

TEST_CASE("simd: HEED_SIMD lowers the level, never raises it") {
  CHECK(simd::parse_level(nullptr, Level::avx2) == Level::avx2);
  CHECK(simd::parse_level("", Level::avx512) == Level::avx512);
  CHECK(simd::parse_level("baseline", Level::avx512) == Level::baseline);
  CHECK(simd::parse_level("avx2", Level::avx512) == Level::avx2);
  CHECK(simd::parse_level("avx512", Level::avx512) == Level::avx512);
  CHECK_THROWS_WITH_AS(
      simd::parse_level("avx512", Level::avx2),
      "HEED_SIMD: must be baseline, avx2 or avx512, and no more than this "
      "processor has, avx2, got avx512",
      std::invalid_argument);
  CHECK_THROWS_AS(
      simd::parse_level("AVX2", Level::avx512), std::invalid_argument);
}

TEST_CASE("simd: the level in use is the one asked for, and config names it") {
  const Level expected =
      simd::parse_level(std::getenv("HEED_SIMD"), simd::processor_level());
  CHECK(simd::level() == expected);
  CHECK(heed::config().find(simd::name(simd::level())) != std::string::npos);
}

TEST_CASE_TEMPLATE("simd: call gives what the kernel gives", T, float, double) {
  std::vector<T> x(103);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<T>(i % 7) - 3;  // whole numbers: every order is exact
  }
  const int n = static_cast<int>(x.size());
  CHECK(
      simd::call<scaled_sum<T>>(x.data(), n, T(2)) ==
      scaled_sum<T>(x.data(), n, T(2)));
}
