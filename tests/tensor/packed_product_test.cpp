#include "tensor/packed_product.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tensor/simd.h"

using namespace heed;

namespace {

/// Rows of `ld` elements, NaN from `cols` on.
template <typename T>
std::vector<T> matrix(int64_t rows, int64_t cols, int64_t ld, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> x(rows * ld, std::numeric_limits<T>::quiet_NaN());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) {
      x[i * ld + j] = static_cast<T>(uniform(random));
    }
  }
  return x;
}

enum class Start { nothing, bias, c };

/// A product whose matrices are parts of wider ones.
template <typename T>
struct Case {
  static constexpr int64_t kPad = 3;
  // No powers of two, whose products would not be rounded.
  static constexpr T kAlpha = T(0.3);
  static constexpr T kBeta = T(0.7);
  int64_t m, n, k;
  bool trans_a, trans_b;
  Start start;
  std::vector<T> a, b, bias, c;

  Case(int64_t m, int64_t n, int64_t k, bool ta, bool tb, Start start)
      : m(m),
        n(n),
        k(k),
        trans_a(ta),
        trans_b(tb),
        start(start),
        a(matrix<T>(ta ? k : m, ta ? m : k, lda(), 1)),
        b(matrix<T>(tb ? n : k, tb ? k : n, ldb(), 2)),
        bias(matrix<T>(1, n, n, 3)),
        // What is overwritten must not be read.
        c(matrix<T>(m, start == Start::c ? n : 0, ldc(), 4)) {}

  int64_t lda() const { return (trans_a ? m : k) + kPad; }
  int64_t ldb() const { return (trans_b ? k : n) + kPad; }
  int64_t ldc() const { return n + kPad; }

  Gemm<T> product(std::vector<T>& out) const {
    return {
        .trans_a = trans_a,
        .trans_b = trans_b,
        .m = m,
        .n = n,
        .k = k,
        .alpha = kAlpha,
        .a = a.data(),
        .lda = lda(),
        .b = b.data(),
        .ldb = ldb(),
        .beta = start == Start::c ? kBeta : T(0),
        .c = out.data(),
        .ldc = ldc(),
        .bias = start == Start::bias ? bias.data() : nullptr};
  }

  std::vector<T> run() const {
    std::vector<T> out = c;
    multiply_packed(product(out));
    return out;
  }

  /// The largest error against sums in float64, in units of what rounding may
  /// cause; infinity if anything beside C was written.
  double error() const {
    const std::vector<T> got = run();
    double worst = 0;
    std::vector<double> sum(n), size(n);
    for (int64_t i = 0; i < m; ++i) {
      std::fill(sum.begin(), sum.end(), 0);
      std::fill(size.begin(), size.end(), 1);
      for (int64_t l = 0; l < k; ++l) {
        const double x = trans_a ? a[l * lda() + i] : a[i * lda() + l];
        for (int64_t j = 0; j < n; ++j) {
          const double xy =
              kAlpha * x * (trans_b ? b[j * ldb() + l] : b[l * ldb() + j]);
          sum[j] += xy;
          size[j] += std::fabs(xy);
        }
      }
      for (int64_t j = 0; j < n; ++j) {
        double want = sum[j];
        want += start == Start::bias ? static_cast<double>(bias[j]) : 0;
        want += start == Start::c
                    ? kBeta * static_cast<double>(c[i * ldc() + j])
                    : 0;
        const double off = std::fabs(got[i * ldc() + j] - want) / size[j];
        worst = std::isnan(off) ? INFINITY : std::max(worst, off);
      }
      for (int64_t j = n; j < ldc(); ++j) {
        worst = std::isnan(got[i * ldc() + j]) ? worst : INFINITY;
      }
    }
    return worst / std::numeric_limits<T>::epsilon();
  }
};

}  // namespace

TEST_CASE_TEMPLATE(
    "packed product: agrees with a plain loop, writes only C",
    T,
    float,
    double) {
  struct Size {
    int64_t m, n, k;
  };
  // Around tiles, panels, blocks of rows, depths and slabs.
  for (const Size& size :
       {Size{1, 1, 1},
        Size{3, 5, 2},
        Size{6, 16, 16},
        Size{7, 33, 17},
        Size{13, 47, 127},
        Size{12, 64, 128},
        Size{27, 65, 129},
        Size{28, 112, 257},
        Size{112, 64, 300},
        Size{113, 70, 100},
        Size{225, 40, 513},
        Size{460, 12, 30},
        Size{9, 2050, 20},
        Size{5, 2100, 530},
        Size{20, 3, 66000}}) {
    const int64_t m = size.m;
    const int64_t n = size.n;
    const int64_t k = size.k;
    for (const bool trans_a : {false, true}) {
      for (const bool trans_b : {false, true}) {
        for (const Start start : {Start::nothing, Start::bias, Start::c}) {
          CAPTURE(m);
          CAPTURE(n);
          CAPTURE(k);
          CAPTURE(trans_a);
          CAPTURE(trans_b);
          CAPTURE(static_cast<int>(start));
          CHECK(Case<T>(m, n, k, trans_a, trans_b, start).error() < 4);
        }
      }
    }
  }
}

TEST_CASE_TEMPLATE(
    "packed product: an element is the same bits whatever is beside it",
    T,
    float,
    double) {
  for (const Start start : {Start::nothing, Start::bias, Start::c}) {
    const Case<T> whole(230, 101, 600, false, true, start);
    const std::vector<T> all = whole.run();
    for (const int64_t m : {1, 13, 100}) {
      for (const int64_t n : {1, 30, 64}) {
        CAPTURE(static_cast<int>(start));
        CAPTURE(m);
        CAPTURE(n);
        std::vector<T> out = whole.c;
        multiply_packed(whole.product(out).tile(7, m, 5, n));
        for (int64_t i = 0; i < m; ++i) {
          const int64_t first = (i + 7) * whole.ldc() + 5;
          REQUIRE(std::memcmp(&all[first], &out[first], n * sizeof(T)) == 0);
        }
      }
    }
  }
}

TEST_CASE("packed product: for large products, at AVX-512") {
  Gemm<float> product{
      .m = 128,
      .n = 128,
      .k = 64,
      .a = nullptr,
      .lda = 64,
      .b = nullptr,
      .ldb = 128,
      .c = nullptr,
      .ldc = 128};
  CHECK(is_large(product) == (simd::level() == simd::Level::avx512));
  product.k = 63;
  CHECK_FALSE(is_large(product));
  product.k = 1 << 20;
  product.m = 7;
  CHECK_FALSE(is_large(product));
}
