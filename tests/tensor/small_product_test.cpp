#include "tensor/small_product.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tensor/creation.h"
#include "tensor/random.h"

using namespace heed;

namespace {

constexpr double kUntouched = -77;

template <typename T>
std::vector<T> drawn(int64_t n, uint64_t seed) {
  Generator generator(seed);
  return randn({n}, dtype_of<T>, generator).template to_vector<T>();
}

// Rows of A, B and C lie a little farther apart than they are long; what is
// between them must be neither read nor written.
template <typename T>
void check_product(int64_t m, int64_t n, int64_t k, bool transposed, bool add) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  const int64_t a_width = (transposed ? m : k) + 2;
  const std::vector<T> a = drawn<T>((transposed ? k : m) * a_width, 1);
  std::vector<T> b = drawn<T>(k * (n + 3), 2);
  for (int64_t l = 0; l < k; ++l) {
    std::fill_n(&b[l * (n + 3) + n], 3, std::numeric_limits<T>::quiet_NaN());
  }
  std::vector<T> c(m * (n + 1) + 64, T(kUntouched));
  for (int64_t i = 0; add && i < m * (n + 1); ++i) {
    c[i] = i % (n + 1) < n ? T(i % 7) : c[i];
  }
  const SmallProduct<T> product{
      .m = m,
      .n = n,
      .k = k,
      .a = a.data(),
      .a_row = transposed ? 1 : a_width,
      .a_column = transposed ? a_width : 1,
      .b = b.data(),
      .b_row = n + 3,
      .c = c.data(),
      .c_row = n + 1,
      .add = add};
  multiply_small(product);
  double worst = 0;
  for (int64_t i = 0; i < std::ssize(c); ++i) {
    double expected = kUntouched;
    const int64_t row = i / (n + 1);
    const int64_t column = i % (n + 1);
    if (row < m && column < n) {
      expected = add ? static_cast<double>(i % 7) : 0;
      for (int64_t l = 0; l < k; ++l) {
        expected +=
            static_cast<double>(a[row * product.a_row + l * product.a_column]) *
            static_cast<double>(b[l * product.b_row + column]);
      }
    }
    const double error = std::fabs(static_cast<double>(c[i]) - expected);
    worst = error <= worst ? worst : error;  // NaN too
  }
  CHECK(worst <= (sizeof(T) == 4 ? 2e-5 : 1e-13));
}

}  // namespace

TEST_CASE_TEMPLATE(
    "small product: right for every size around the tiles", T, float, double) {
  for (const int64_t m : {1, 2, 3, 5, 7, 8, 12, 13, 17, 26, 33}) {
    for (const int64_t n : {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 50, 64}) {
      for (const int64_t k : {1, 2, 9, 64, 65, 130}) {
        check_product<T>(m, n, k, (m + n + k) % 2 == 0, (m + k) % 3 == 0);
      }
    }
  }
}

TEST_CASE_TEMPLATE(
    "small product: of nothing is zero, or adds nothing", T, float, double) {
  for (const int64_t n : {1, 16, 35}) {
    check_product<T>(3, n, 0, false, false);
    check_product<T>(3, n, 0, false, true);
    check_product<T>(0, n, 4, false, false);
  }
  check_product<T>(3, 0, 4, false, false);
}

TEST_CASE("small product: an element is the same bits in any tile") {
  constexpr int64_t kDepth = 70;
  const std::vector<float> a = drawn<float>(40 * kDepth, 1);
  const std::vector<float> b = drawn<float>(kDepth * 80, 2);
  const auto run = [&](int64_t m, int64_t n) {
    std::vector<float> c(40 * 80);
    multiply_small(SmallProduct<float>{
        m, n, kDepth, a.data(), kDepth, 1, b.data(), 80, c.data(), 80});
    return c;
  };
  const std::vector<float> all = run(40, 80);
  for (const int64_t m : {1, 6, 11, 29}) {
    for (const int64_t n : {1, 5, 16, 30, 48, 77}) {
      const std::vector<float> part = run(m, n);
      int64_t same = 0;
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          same += part[i * 80 + j] == all[i * 80 + j];
        }
      }
      CHECK(same == m * n);
    }
  }
}
