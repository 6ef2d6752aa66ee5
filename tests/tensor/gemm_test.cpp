#include "tensor/gemm.h"

#include <doctest/doctest.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tensor/parallel.h"

using namespace heed;

namespace {

// The thread sanitizer does not see how OpenMP's threads wait for each other.
#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
#else
constexpr bool kThreadSanitizer = false;
#endif

class Threads {
 public:
  explicit Threads(int n) : before_(num_threads()) { set_num_threads(n); }
  ~Threads() { set_num_threads(before_); }

 private:
  int before_;
};

/// Numbers in [-1, 1]; what lies between the rows is NaN, so that a product
/// that reads it shows.
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

template <typename T>
struct Case {
  bool trans_a, trans_b;
  int64_t m, n, k, pad;
  T alpha, beta;
  int64_t lda, ldb, ldc;
  std::vector<T> a, b, c;

  Case(
      bool ta,
      bool tb,
      int64_t m,
      int64_t n,
      int64_t k,
      T alpha = 1,
      T beta = 0,
      int64_t pad = 0)
      : trans_a(ta),
        trans_b(tb),
        m(m),
        n(n),
        k(k),
        pad(pad),
        alpha(alpha),
        beta(beta),
        lda((ta ? m : k) + pad),
        ldb((tb ? k : n) + pad),
        ldc(n + pad),
        a(matrix<T>(ta ? k : m, ta ? m : k, lda, 1)),
        b(matrix<T>(tb ? n : k, tb ? k : n, ldb, 2)),
        c(matrix<T>(m, beta == 0 ? 0 : n, ldc, 3)) {}

  std::vector<T> run() const {
    std::vector<T> got = c;
    gemm(Gemm<T>{
        trans_a,
        trans_b,
        m,
        n,
        k,
        alpha,
        a.data(),
        lda,
        b.data(),
        ldb,
        beta,
        got.data(),
        ldc});
    return got;
  }

  /// The largest error against a plain loop in double, in units of what
  /// rounding may cause; infinity if anything beside C was written.
  double error() const {
    const std::vector<T> got = run();
    double worst = 0;
    std::vector<double> sum(n), size(n);
    for (int64_t i = 0; i < m; ++i) {
      sum.assign(n, 0);
      size.assign(n, 0);
      for (int64_t p = 0; p < k; ++p) {
        const double x = trans_a ? a[p * lda + i] : a[i * lda + p];
        for (int64_t j = 0; j < n; ++j) {
          const double y = trans_b ? b[j * ldb + p] : b[p * ldb + j];
          sum[j] += x * y;
          size[j] += std::fabs(x * y);
        }
      }
      for (int64_t j = 0; j < n; ++j) {
        double want = alpha * sum[j];
        if (beta != 0) {
          want += beta * static_cast<double>(c[i * ldc + j]);
        }
        const double unit = std::numeric_limits<T>::epsilon() *
                            (1 + std::fabs(alpha) * size[j]);
        const double off = std::fabs(got[i * ldc + j] - want) / unit;
        worst = std::isnan(off) ? INFINITY : std::max(worst, off);
      }
      for (int64_t j = n; j < ldc; ++j) {
        if (!std::isnan(got[i * ldc + j])) {
          worst = INFINITY;
        }
      }
    }
    return worst;
  }
};

template <typename T>
void check_all_transposes(
    int64_t m, int64_t n, int64_t k, T alpha, T beta, int64_t pad) {
  for (const bool trans_a : {false, true}) {
    for (const bool trans_b : {false, true}) {
      CAPTURE(m);
      CAPTURE(n);
      CAPTURE(k);
      CAPTURE(trans_a);
      CAPTURE(trans_b);
      CAPTURE(beta);
      const Case<T> product(trans_a, trans_b, m, n, k, alpha, beta, pad);
      CHECK(product.error() < 4);
    }
  }
}

template <typename T>
bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() &&
         std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

}  // namespace

TEST_CASE_TEMPLATE(
    "gemm: agrees with a plain loop, all transposes", T, float, double) {
  for (const int64_t m : {1, 7, 16, 33, 65}) {
    for (const int64_t n : {1, 8, 17, 64, 97}) {
      for (const int64_t k : {1, 13, 50}) {
        check_all_transposes<T>(m, n, k, 1, 0, 0);
      }
    }
  }
}

TEST_CASE_TEMPLATE(
    "gemm: agrees with a plain loop, alpha, beta and padded rows",
    T,
    float,
    double) {
  for (const T beta : {T(0), T(1), T(-0.5)}) {
    check_all_transposes<T>(5, 9, 3, T(2), beta, 1);
    check_all_transposes<T>(31, 45, 67, T(-0.25), beta, 3);
    check_all_transposes<T>(128, 64, 32, T(1), beta, 5);
  }
}

TEST_CASE_TEMPLATE(
    "gemm: agrees with a plain loop, cut into ragged tiles", T, float, double) {
  const Threads guard(2);
  check_all_transposes<T>(150, 171, 66, 1, 0, 7);
  check_all_transposes<T>(301, 11, 330, 1, T(0.5), 0);
  check_all_transposes<T>(11, 401, 300, 1, 0, 1);
  check_all_transposes<T>(65, 66, 520, 1, 1, 0);
}

TEST_CASE_TEMPLATE(
    "gemm: the same bits for 1, 2 and 4 threads", T, float, double) {
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{
           {384, 200, 50},
           {33, 700, 64},
           {100, 100, 500},
           {720, 11, 250},
           {1, 1500, 100},
           {2050, 1030, 150}}) {
    const Case<T> product(true, false, m, n, k, 1, 0);
    const Threads guard(1);
    const std::vector<T> one = product.run();
    for (const int threads : {2, 4}) {
      set_num_threads(threads);
      CHECK(same_bits(product.run(), one));
    }
  }
}

TEST_CASE("gemm: the same bits wherever the matrices lie in memory") {
  for (const int64_t m : {45, 1}) {
    const Case<float> product(false, true, m, 70, 33);
    const std::vector<float> want = product.run();
    for (int64_t shift = 1; shift < 17; ++shift) {
      const auto moved = [&](const std::vector<float>& x) {
        std::vector<float> y(shift);
        y.insert(y.end(), x.begin(), x.end());
        return y;
      };
      const std::vector<float> a = moved(product.a);
      const std::vector<float> b = moved(product.b);
      std::vector<float> c = moved(product.c);
      gemm(Gemm<float>{
          .trans_b = true,
          .m = m,
          .n = 70,
          .k = 33,
          .a = a.data() + shift,
          .lda = 33,
          .b = b.data() + shift,
          .ldb = 33,
          .c = c.data() + shift,
          .ldc = 70});
      CHECK(same_bits(std::vector<float>(c.begin() + shift, c.end()), want));
    }
  }
}

TEST_CASE("gemm: an empty sum is beta C, and beta = 0 overwrites NaN") {
  const float nan = NAN;
  std::vector<float> c = {nan, nan, nan, nan, nan, nan};
  gemm(Gemm<float>{
      false, false, 2, 3, 0, 1.0f, &nan, 0, &nan, 3, 0.0f, c.data(), 3});
  CHECK(c == std::vector<float>(6, 0.0f));
  c = {1, 2, 3, 4, 5, 6};
  gemm(Gemm<float>{
      true, true, 2, 2, 0, 1.0f, &nan, 2, &nan, 0, 0.5f, c.data(), 3});
  CHECK(c == std::vector<float>{0.5, 1, 3, 2, 2.5, 6});
}

TEST_CASE_TEMPLATE("gemm: a bias is what C holds before", T, float, double) {
  for (const auto& size : std::vector<std::array<int64_t, 3>>{
           {1, 700, 300},
           {5, 7, 3},
           {300, 20, 1},
           {4, 4, 0},
           {300, 500, 200}}) {
    const int64_t m = size[0];
    const int64_t n = size[1];
    const int64_t k = size[2];
    CAPTURE(m);
    CAPTURE(n);
    const Case<T> given(false, true, m, n, k, T(0.5), T(1), 3);
    const std::vector<T> bias = matrix<T>(1, n, n, 4);
    std::vector<T> expected = given.c;
    for (int64_t i = 0; i < m; ++i) {
      std::copy(bias.begin(), bias.end(), expected.begin() + i * given.ldc);
    }
    std::vector<T> got = given.c;
    Gemm<T> product{
        .trans_b = true,
        .m = m,
        .n = n,
        .k = k,
        .alpha = T(0.5),
        .a = given.a.data(),
        .lda = given.lda,
        .b = given.b.data(),
        .ldb = given.ldb,
        .c = got.data(),
        .ldc = given.ldc,
        .bias = bias.data()};
    gemm(product);
    product.bias = nullptr;
    product.beta = 1;
    product.c = expected.data();
    gemm(product);
    CHECK(
        std::memcmp(got.data(), expected.data(), got.size() * sizeof(T)) == 0);
  }
}

TEST_CASE("gemm: products without rows or columns touch nothing") {
  float c = 7;
  const float* none = nullptr;
  gemm(Gemm<float>{false, false, 0, 2, 3, 1.0f, none, 3, none, 2, 0.0f, &c, 2});
  gemm(Gemm<float>{false, false, 2, 0, 3, 1.0f, none, 3, none, 0, 0.0f, &c, 0});
  gemm(Gemm<float>{false, false, 0, 0, 0, 1.0f, none, 0, none, 0, 0.0f, &c, 0});
  gemm(
      Gemm<float>{false, false, 2, 3, 4, 1.0f, none, 4, none, 3, 0.0f, &c, 3},
      {0, 8, 12, 6});
  gemm(
      Gemm<float>{false, false, 2, 0, 4, 1.0f, none, 4, none, 0, 0.0f, &c, 0},
      {5, 8, 0, 0});
  CHECK(c == 7);
}

TEST_CASE("gemm: alpha = 0 leaves A and B unread") {
  for (const int64_t n : {3, 20, 150}) {  // also a thin and a large product
    for (const int64_t m : {int64_t{2}, n}) {
      CAPTURE(m);
      CAPTURE(n);
      const std::vector<float> nan(n * n, NAN);
      std::vector<float> c(m * n, 2.0f);
      Gemm<float> product{
          .m = m,
          .n = n,
          .k = n,
          .alpha = 0,
          .a = nan.data(),
          .lda = n,
          .b = nan.data(),
          .ldb = n,
          .beta = 0.5f,
          .c = c.data(),
          .ldc = n};
      gemm(product);
      CHECK(c == std::vector<float>(m * n, 1.0f));
      product.trans_b = true;
      gemm(product);
      CHECK(c == std::vector<float>(m * n, 0.5f));
      const std::vector<float> bias(n, 3.0f);
      product.beta = 0;
      product.bias = bias.data();
      gemm(product);
      CHECK(c == std::vector<float>(m * n, 3.0f));
    }
  }
}

TEST_CASE("gemm: a NaN in a row of A stays in that row of C") {
  Case<float> product(false, false, 40, 50, 60);
  product.a[17 * 60 + 5] = NAN;
  const std::vector<float> c = product.run();
  std::vector<bool> spoilt(c.size()), want(c.size());
  for (int64_t i = 0; i < 40 * 50; ++i) {
    spoilt[i] = std::isnan(c[i]);
    want[i] = i / 50 == 17;
  }
  CHECK(spoilt == want);
}

TEST_CASE("gemm: works in every thread of the user's own parallel loops") {
  const Threads guard(2);
  const Case<float> product(false, false, 512, 512, 512);
  const std::vector<float> want = product.run();
  alarm(60);  // a deadlock ends the program
  if (!kThreadSanitizer) {
    std::array<std::vector<float>, 2> inside;
#pragma omp parallel num_threads(2)
    inside[omp_get_thread_num()] = product.run();
    CHECK(same_bits(inside[0], want));
    CHECK((inside[1].empty() || same_bits(inside[1], want)));
  }
  std::array<std::vector<float>, 4> beside;
  std::vector<std::thread> threads;
  for (std::vector<float>& c : beside) {
    threads.emplace_back([&] { c = product.run(); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::vector<float>& c : beside) {
    CHECK(same_bits(c, want));
  }
  alarm(0);
}

TEST_CASE("gemm: leaves the user's number of OpenMP threads alone") {
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  Case<float>(false, false, 8, 8, 8).run();
  CHECK(omp_get_max_threads() == 3);
  omp_set_num_threads(before);
}

TEST_CASE_TEMPLATE("gemm: a batch is one product an index", T, float, double) {
  const Threads guard(2);
  for (const auto& [batch, m, n, k] : std::vector<std::array<int64_t, 4>>{
           {1, 5, 6, 7},
           {40, 10, 12, 9},
           {3, 130, 150, 70},
           {64, 16, 16, 64}}) {
    // One A for all, B and C with a gap between the products.
    const std::vector<T> a = matrix<T>(m, k, k, 1);
    const std::vector<T> b = matrix<T>(batch, n * k, n * k + 3, 2);
    std::vector<T> c(batch * (m * n + 5), T(9));
    gemm(
        Gemm<T>{
            false,
            true,
            m,
            n,
            k,
            T(1),
            a.data(),
            k,
            b.data(),
            k,
            T(0),
            c.data(),
            n},
        {batch, 0, n * k + 3, m * n + 5});
    for (int64_t i = 0; i < batch; ++i) {
      Case<T> one(false, true, m, n, k);
      one.a = a;
      const T* b_i = b.data() + i * (n * k + 3);
      one.b.assign(b_i, b_i + n * k);
      const std::vector<T> want = one.run();
      double off = 0;
      for (int64_t j = 0; j < m * n; ++j) {
        off =
            std::max<double>(off, std::fabs(c[i * (m * n + 5) + j] - want[j]));
      }
      CHECK(off <= 16 * std::sqrt(k) * std::numeric_limits<T>::epsilon());
      for (int64_t j = m * n; j < m * n + 5; ++j) {
        CHECK(c[i * (m * n + 5) + j] == T(9));
      }
    }
  }
}

TEST_CASE_TEMPLATE(
    "gemm: batches give the same bits for 1, 2 and 4 threads",
    T,
    float,
    double) {
  const std::vector<T> a = matrix<T>(24, 60 * 50, 60 * 50, 1);
  const std::vector<T> b = matrix<T>(24, 50 * 70, 50 * 70, 2);
  const auto run = [&](int threads) {
    const Threads guard(threads);
    std::vector<T> c(24 * 60 * 70);
    gemm(
        Gemm<T>{
            true,
            false,
            60,
            70,
            50,
            T(1),
            a.data(),
            60,
            b.data(),
            70,
            T(0),
            c.data(),
            70},
        {24, 60 * 50, 50 * 70, 60 * 70});
    return c;
  };
  const std::vector<T> one = run(1);
  CHECK(same_bits(run(2), one));
  CHECK(same_bits(run(4), one));
}

TEST_CASE("gemm: bad sizes say what is wrong and change nothing") {
  std::vector<float> x(16, 1.0f), c(16, 7.0f);
  const auto call = [&](int64_t m, int64_t n, int64_t k, int64_t lda) {
    gemm(Gemm<float>{
        false,
        false,
        m,
        n,
        k,
        1.0f,
        x.data(),
        lda,
        x.data(),
        4,
        0.0f,
        c.data(),
        4});
  };
  CHECK_THROWS_WITH_AS(
      call(2, 2, -1, 4),
      "gemm: sizes must be in [0, 2147483647], got A [2, -1]",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      call(int64_t{1} << 31, 2, 2, 4),
      "gemm: sizes must be in [0, 2147483647], got A [2147483648, 2]",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      call(2, 2, 4, 3),
      "gemm: the leading dimension of A must be in [4, 2147483647], got 3",
      std::invalid_argument);
  CHECK_THROWS_AS(call(2, 2, 4, int64_t{1} << 31), std::invalid_argument);
  CHECK(c == std::vector<float>(16, 7.0f));
}
