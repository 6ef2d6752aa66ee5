#include "tensor/thin_product.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

using namespace heed;

namespace {

constexpr int64_t kPad = 3;  // between the rows of each matrix

template <typename T>
std::vector<T> matrix(int64_t rows, int64_t cols, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> x(rows * (cols + kPad), std::numeric_limits<T>::quiet_NaN());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) {
      x[i * (cols + kPad) + j] = static_cast<T>(uniform(random));
    }
  }
  return x;
}

template <typename T>
Gemm<T> product_of(
    int64_t m,
    int64_t n,
    int64_t k,
    const std::vector<T>& a,
    const std::vector<T>& b,
    T beta,
    std::vector<T>& c) {
  return {
      .trans_b = true,
      .m = m,
      .n = n,
      .k = k,
      .a = a.data(),
      .lda = k + kPad,
      .b = b.data(),
      .ldb = k + kPad,
      .beta = beta,
      .c = c.data(),
      .ldc = n + kPad};
}

}  // namespace

TEST_CASE_TEMPLATE(
    "thin product: agrees with a plain loop, writes only C", T, float, double) {
  for (const int64_t m : {2, 7, 16, 17, 31, 32}) {
    for (const int64_t n : {48, 50, 97, 1300}) {
      for (const int64_t k : {16, 70, 129}) {
        for (const T beta : {T(0), T(1)}) {
          CAPTURE(m);
          CAPTURE(n);
          CAPTURE(k);
          const std::vector<T> a = matrix<T>(m, k, 1);
          const std::vector<T> b = matrix<T>(n, k, 2);
          // beta = 0 must overwrite NaN.
          const std::vector<T> before =
              beta == 0 ? std::vector<T>(m * (n + kPad), T(NAN))
                        : matrix<T>(m, n, 3);
          std::vector<T> c = before;
          const Gemm<T> product = product_of(m, n, k, a, b, beta, c);
          REQUIRE(is_thin(product));
          multiply_thin(product);
          bool right = true;
          for (int64_t i = 0; i < m; ++i) {
            for (int64_t j = 0; j < n + kPad; ++j) {
              const int64_t at = i * (n + kPad) + j;
              if (j >= n) {
                right = right && std::isnan(c[at]);
                continue;
              }
              double want = beta == 0 ? 0 : before[at];
              double size = 1;
              for (int64_t p = 0; p < k; ++p) {
                const double x = static_cast<double>(a[i * (k + kPad) + p]) *
                                 static_cast<double>(b[j * (k + kPad) + p]);
                want += x;
                size += std::fabs(x);
              }
              const double unit = std::numeric_limits<T>::epsilon() * size;
              right = right && std::fabs(c[at] - want) < 4 * unit;
            }
          }
          CHECK(right);
        }
      }
    }
  }
}

TEST_CASE("thin product: a row does not depend on the others") {
  const int64_t n = 200;
  const int64_t k = 300;
  const std::vector<float> a = matrix<float>(32, k, 1);
  const std::vector<float> b = matrix<float>(n, k, 2);
  std::vector<float> all(32 * (n + kPad));
  multiply_thin(product_of<float>(32, n, k, a, b, 0, all));
  for (const int64_t m : {2, 5, 17}) {
    std::vector<float> some(m * (n + kPad));
    multiply_thin(product_of<float>(m, n, k, a, b, 0, some));
    for (int64_t i = 0; i < m; ++i) {
      const auto row = all.begin() + i * (n + kPad);
      CHECK(std::equal(row, row + n, some.begin() + i * (n + kPad)));
    }
  }
}

TEST_CASE("thin product: others are left to BLAS") {
  std::vector<float> x(10000);
  const Gemm<float> thin = product_of<float>(8, 64, 32, x, x, 0, x);
  CHECK(is_thin(thin));
  Gemm<float> other = thin;
  other.m = 33;
  CHECK_FALSE(is_thin(other));
  other = thin;
  other.trans_a = true;
  CHECK_FALSE(is_thin(other));
  other = thin;
  other.trans_b = false;
  CHECK_FALSE(is_thin(other));
  other = thin;
  other.alpha = 2;
  CHECK_FALSE(is_thin(other));
  other = thin;
  other.beta = 0.5f;
  CHECK_FALSE(is_thin(other));
}
