#include "tensor/lanes.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tensor/simd.h"

using namespace heed;

namespace {

template <typename T>
double sum_of(const T* x, int64_t n) {
  return lane_sum(n, [=](int64_t i) { return x[i]; });
}

template <typename T>
double norm_of(const T* x, T* copy, int64_t n) {
  const auto sums = lane_sums<T, 3>(n, [=](int64_t i, T& a, T& b, T& c) {
    a += x[i];
    b += x[i] * x[i];
    c += 1;
    copy[i] = x[i];
  });
  return sums[0] + 10000 * sums[1] + 1e9 * sums[2];
}

template <typename T>
T max_of(const T* x, int64_t n) {
  return lane_max(x, n);
}

int64_t index_sum(int64_t n) {
  return lane_fold(
      n,
      int64_t{0},
      [](int64_t sum, int64_t i) { return sum + i; },
      [](int64_t a, int64_t b) { return a + b; });
}

const std::vector<int64_t> kSizes = {
    0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 100, 1023, 1024, 1025, 5000};

/// Numbers of no pattern, about -1 .. 1.
template <typename T>
std::vector<T> wavy(int64_t n) {
  std::vector<T> x(n);
  for (int64_t i = 0; i < n; ++i) {
    x[i] = static_cast<T>(std::sin(0.7 + 12.9898 * static_cast<double>(i)));
  }
  return x;
}

}  // namespace

TEST_CASE_TEMPLATE(
    "lanes: every element is folded once, for rows of every length",
    T,
    float,
    double) {
  for (const int64_t n : kSizes) {
    CAPTURE(n);
    std::vector<T> x(n);
    std::vector<T> copy(n);
    for (int64_t i = 0; i < n; ++i) {
      x[i] = static_cast<T>(i % 5 - 1);  // whole numbers: every order is exact
    }
    double sum = 0;
    double squares = 0;
    for (const T v : x) {
      sum += v;
      squares += v * v;
    }
    CHECK(simd::call<sum_of<T>>(static_cast<const T*>(x.data()), n) == sum);
    CHECK(
        simd::call<norm_of<T>>(
            static_cast<const T*>(x.data()), copy.data(), n) ==
        sum + 10000 * squares + 1e9 * static_cast<double>(n));
    CHECK(copy == x);
    CHECK(simd::call<index_sum>(n) == n * (n - 1) / 2);
  }
}

TEST_CASE("lanes: a float32 sum keeps its precision however long the row") {
  for (const int64_t n : {40, 1000, 100000, 5000000}) {
    CAPTURE(n);
    const std::vector<float> x = wavy<float>(n);
    double sum = 0;
    double absolute = 0;
    for (const float v : x) {
      sum += v;
      absolute += std::fabs(v);
    }
    CHECK(
        std::fabs(simd::call<sum_of<float>>(x.data(), n) - sum) <=
        0x1p-24 * 37 * absolute);
    const std::vector<float> tenths(n, 0.1f);
    CHECK(
        simd::call<sum_of<float>>(tenths.data(), n) ==
        doctest::Approx(0.1 * static_cast<double>(n)).epsilon(5e-7));
  }
}

TEST_CASE_TEMPLATE(
    "lanes: the maximum is found at every place and passes NaN over",
    T,
    float,
    double) {
  const T infinity = std::numeric_limits<T>::infinity();
  for (const int64_t n : kSizes) {
    CAPTURE(n);
    std::vector<T> x(n, T(-3));
    for (int64_t i = 0; i < n; ++i) {
      x[i] = 7;
      REQUIRE(simd::call<max_of<T>>(static_cast<const T*>(x.data()), n) == 7);
      x[i] = std::numeric_limits<T>::quiet_NaN();
      const T rest = n > 1 ? T(-3) : -infinity;
      REQUIRE(
          simd::call<max_of<T>>(static_cast<const T*>(x.data()), n) == rest);
      x[i] = -3;
    }
    CHECK(
        simd::call<max_of<T>>(static_cast<const T*>(x.data()), int64_t{0}) ==
        -infinity);
  }
}
