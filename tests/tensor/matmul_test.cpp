#include "tensor/matmul.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "tensor/creation.h"
#include "tensor/memory.h"
#include "tensor/parallel.h"

using namespace heed;

namespace {

using Numbers = std::vector<double>;

/// Fixed numbers in [-1, 1) without a pattern.
Tensor noise(const Shape& shape, DType dtype = kFloat32, uint64_t seed = 1) {
  Tensor x(shape, kFloat64);
  double* v = x.mutable_data<double>();
  uint64_t state = seed;
  for (int64_t i = 0; i < x.numel(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v[i] = static_cast<double>(static_cast<int64_t>(state) >> 11) * 0x1p-52;
  }
  return x.to(dtype);
}

/// One product [m, k] x [k, n] by the definition.
Tensor naive(const Tensor& a, const Tensor& b) {
  const Numbers x = a.to_vector<double>();
  const Numbers y = b.to_vector<double>();
  const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
  Tensor c({m, n}, kFloat64);
  double* out = c.mutable_data<double>();
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l) {
        sum += x[i * k + l] * y[l * n + j];
      }
      out[i * n + j] = sum;
    }
  }
  return c;
}

/// The largest difference, absolute.
double difference(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  const Numbers x = a.to_vector<double>();
  const Numbers y = b.to_vector<double>();
  double most = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    most = std::fmax(most, std::fabs(x[i] - y[i]));
  }
  return most;
}

/// Compares a product of up to four dimensions with naive() matrix by matrix.
void check_product(const Tensor& a, const Tensor& b) {
  CAPTURE(a.shape());
  CAPTURE(b.shape());
  const Tensor y = matmul(a, b);
  REQUIRE(y.dim() >= 2);
  Dims lead;
  for (int64_t d = 0; d < y.dim() - 2; ++d) {
    lead.push_back(y.size(d));
  }
  const auto spread = [&](const Tensor& x) {
    Dims sizes = lead;
    sizes.push_back(x.size(-2));
    sizes.push_back(x.size(-1));
    const Tensor full = x.expand(sizes).clone();
    return full.reshape({Shape(lead).numel(), x.size(-2), x.size(-1)});
  };
  const Tensor left = spread(a);
  const Tensor right = spread(b);
  const Tensor all = y.reshape({Shape(lead).numel(), a.size(-2), b.size(-1)});
  const double tolerance =
      (a.dtype() == kFloat32 ? 2e-7 : 1e-15) * (10 + a.size(-1));
  for (int64_t i = 0; i < all.size(0); ++i) {
    CHECK(difference(all[i], naive(left[i], right[i])) < tolerance);
  }
}

/// Bytes of new tensors that `f` needed at its peak.
template <typename F>
int64_t peak_bytes(const F& f) {
  const int64_t before = memory_stats().live_bytes;
  reset_peak_memory();
  f();
  return memory_stats().peak_bytes - before;
}

}  // namespace

TEST_CASE("matmul: a transposed view gives the product, not its raw buffer's") {
  const Tensor a = tensor({{0., 1.}, {0., 1.}, {0., 1.}}).transpose(0, 1);
  const Tensor b = tensor({{1., 0., 0.}, {0., 2., 0.}, {0., 0., 3.}});
  CHECK(matmul(a, b).to_vector<double>() == Numbers{0, 0, 0, 1, 2, 3});
  const Tensor a2 = tensor({{1., 4.}, {2., 5.}, {3., 6.}}).transpose(0, 1);
  const Tensor b2 = tensor({{1., 3., 5.}, {2., 4., 6.}}).transpose(0, 1);
  CHECK(matmul(a2, b2).to_vector<double>() == Numbers{22, 28, 49, 64});
}

TEST_CASE("matmul: every layout of either operand") {
  for (DType dtype : {kFloat32, kFloat64}) {
    const auto layouts = [&](int64_t rows, int64_t cols, uint64_t seed) {
      return std::vector<Tensor>{
          noise({rows, cols}, dtype, seed),
          noise({cols, rows}, dtype, seed).transpose(0, 1),
          noise({rows, cols + 3}, dtype, seed).slice(1, 2, 2 + cols),
          noise({cols + 3, rows}, dtype, seed)
              .slice(0, 2, 2 + cols)
              .transpose(0, 1),
          noise({rows, 2 * cols}, dtype, seed).slice(1, 0, 2 * cols, 2),
          noise({2 * rows, cols}, dtype, seed).slice(0, 1, 2 * rows, 2),
          noise({1, cols}, dtype, seed).expand({rows, cols}),
          noise({rows, 1}, dtype, seed).expand({rows, cols}),
      };
    };
    for (const Tensor& a : layouts(3, 4, 1)) {
      for (const Tensor& b : layouts(4, 5, 2)) {
        check_product(a, b);
      }
    }
    for (int64_t m : {1, 2}) {
      for (int64_t k : {1, 2}) {
        for (int64_t n : {1, 2}) {
          for (const Tensor& a : layouts(m, k, 1)) {
            for (const Tensor& b : layouts(k, n, 2)) {
              check_product(a, b);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("matmul: rows that overlap in memory") {
  const Tensor windows = noise({9}).as_strided({5, 3}, {1, 1}, 0);
  check_product(windows, noise({3, 4}, kFloat32, 2));
  check_product(noise({2, 5}, kFloat32, 2), windows);
  const Tensor steps = noise({20}).as_strided({5, 3}, {2, 1}, 0);
  check_product(steps, steps.transpose(0, 1));
}

TEST_CASE("matmul: batches broadcast as NumPy's do") {
  check_product(noise({2, 3, 4}), noise({4, 5}));
  check_product(noise({3, 4}), noise({2, 4, 5}));
  check_product(noise({6, 1, 3, 4}), noise({2, 4, 5}));
  check_product(noise({1, 3, 4}), noise({1, 1, 4, 5}));
  check_product(noise({2, 1, 3, 4}), noise({1, 4, 4, 5}));
  check_product(noise({3, 4}).expand({2, 3, 4}), noise({2, 4, 5}));
  check_product(noise({2, 3, 4}), noise({4, 5}).expand({2, 4, 5}));
  check_product(noise({2, 4, 3}).transpose(1, 2), noise({4, 5}));
  check_product(noise({4, 3, 2}).permute({2, 1, 0}), noise({4, 5}));
  check_product(noise({5, 3, 2}).permute({2, 1, 0}), noise({2, 5, 4}));
  check_product(
      noise({2, 3, 4}).transpose(1, 2), noise({2, 5, 3}).transpose(1, 2));
  check_product(noise({4, 6, 8}).slice(0, 0, 4, 2), noise({8, 5}));
}

TEST_CASE("matmul: attention heads are read where they lie") {
  const int64_t B = 3, T = 64, S = 48, H = 4, dh = 32;
  const auto heads = [&](int64_t length, uint64_t seed) {
    return noise({B, length, H, dh}, kFloat32, seed).permute({0, 2, 1, 3});
  };
  const Tensor q = heads(T, 1);                     // [B, H, T, dh]
  const Tensor kt = heads(S, 2).transpose(-2, -1);  // [B, H, dh, S]
  check_product(q, kt);
  const int64_t needed = peak_bytes([&] { Tensor({B, H, T, S}, kFloat32); });
  CHECK(peak_bytes([&] { matmul(q, kt); }) == needed);
}

TEST_CASE("matmul: a batch times one matrix needs no copy of either") {
  const Tensor x = noise({8, 64, 96});
  const Tensor w = noise({128, 96});
  const int64_t needed = peak_bytes([] { Tensor({8, 64, 128}, kFloat32); });
  CHECK(peak_bytes([&] { matmul(x, w.transpose(0, 1)); }) == needed);
  check_product(x, w.transpose(0, 1));
  // One that BLAS cannot read is copied once, not for every batch.
  const Tensor sparse = noise({96, 256}).slice(1, 0, 256, 2);
  const int64_t copied = needed + peak_bytes([] {
                           Tensor({96, 128}, kFloat32);
                         });
  CHECK(peak_bytes([&] { matmul(x, sparse.expand({8, 96, 128})); }) == copied);
  // Sliced columns: the rows of all batches are still equally far apart.
  check_product(x.slice(2, 0, 32), w.slice(1, 0, 32).transpose(0, 1));
}

TEST_CASE("matmul: a vector is a row on the left and a column on the right") {
  const Tensor a = tensor({{1., 2., 3.}, {4., 5., 6.}});
  const Tensor b = tensor({1., 2., 3.});
  CHECK(matmul(a, b).to_vector<double>() == Numbers{14, 32});
  CHECK(matmul(a, b).shape() == Shape{2});
  CHECK(matmul(b, a.transpose(0, 1)).to_vector<double>() == Numbers{14, 32});
  CHECK(matmul(b, b).item<double>() == 14);
  CHECK(matmul(b, b).shape() == Shape{});
  CHECK(matmul(noise({2, 5, 3}), b).shape() == Shape{2, 5});
  CHECK(matmul(b, noise({2, 3, 5})).shape() == Shape{2, 5});
  const Tensor column = a.transpose(0, 1).contiguous().select(1, 1);
  CHECK(matmul(a, column).to_vector<double>() == Numbers{32, 77});
  const Tensor same = tensor(2.).expand({3});
  CHECK(matmul(a, same).to_vector<double>() == Numbers{12, 30});
}

TEST_CASE("matmul: empty operands give empty or zero results, silently") {
  std::FILE* const sink = std::tmpfile();
  REQUIRE(sink != nullptr);
  std::fflush(stderr);
  const int kept = dup(2);
  dup2(fileno(sink), 2);
  const auto product = [](const Shape& a, const Shape& b) {
    return matmul(Tensor(a, kFloat32), Tensor(b, kFloat32));
  };
  const Tensor no_rows = product({0, 3}, {3, 2});
  const Tensor no_inner = product({2, 0}, {0, 3});
  const Tensor no_matrix = product({0, 2, 3}, {0, 3, 4});
  const Tensor batch_of_zeros = product({2, 3, 0}, {0, 4});
  const Tensor no_columns = product({5, 2, 3}, {3, 0});
  const Tensor no_number = product({0}, {0});
  std::fflush(stderr);
  dup2(kept, 2);
  close(kept);
  CHECK(lseek(fileno(sink), 0, SEEK_END) == 0);
  std::fclose(sink);

  CHECK(no_rows.shape() == Shape{0, 2});
  CHECK(no_inner.to_vector<double>() == Numbers(6, 0.0));
  CHECK(no_matrix.shape() == Shape{0, 2, 4});
  CHECK(batch_of_zeros.to_vector<double>() == Numbers(24, 0.0));
  CHECK(no_columns.shape() == Shape{5, 2, 0});
  CHECK(no_number.item<double>() == 0);
}

TEST_CASE("matmul: NaN and infinity are not lost beside zeros") {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor a = tensor({{inf, 1.}, {NAN, 0.}});
  const Tensor b = tensor({{0., 1.}, {1., 0.}});
  const Numbers y = matmul(a, b).to_vector<double>();
  CHECK(std::isnan(y[0]));
  CHECK(y[1] == inf);
  CHECK(std::isnan(y[2]));
  CHECK(std::isnan(y[3]));
}

TEST_CASE("matmul: the same bits for 1, 2 and 4 threads") {
  const std::vector<std::pair<Tensor, Tensor>> products = {
      {noise({300, 200}), noise({200, 170})},
      {noise({40, 60, 64}), noise({64, 96})},
      {noise({12, 50, 8, 32}).permute({0, 2, 1, 3}),
       noise({12, 40, 8, 32}).permute({0, 2, 3, 1})},
      {noise({96, 30, 40}), noise({96, 40, 30})},
  };
  const int before = num_threads();
  for (const auto& product : products) {
    const Tensor& a = product.first;
    const Tensor& b = product.second;
    CAPTURE(a.shape());
    set_num_threads(1);
    const std::vector<float> one = matmul(a, b).to_vector<float>();
    for (int n : {2, 4}) {
      set_num_threads(n);
      CHECK(matmul(a, b).to_vector<float>() == one);
    }
  }
  set_num_threads(before);
}

TEST_CASE("matmul: a row's result hardly depends on the rows beside it") {
  const Tensor x = noise({16, 784});
  const Tensor w = noise({128, 784}, kFloat32, 7).transpose(0, 1);
  const Tensor all = matmul(x, w);
  const double largest = difference(all, zeros(all.shape()));
  for (int64_t i = 0; i < 16; ++i) {
    CHECK(
        difference(matmul(x.slice(0, i, i + 1), w)[0], all[i]) <=
        1e-6 * largest);
  }
  CHECK(matmul(x, w).to_vector<float>() == all.to_vector<float>());
}

TEST_CASE("matmul_into: a result of another shape is refused, not overrun") {
  const Tensor a = ones({2, 3});
  const Tensor b = ones({3, 4});
  const auto refuses = [&](Tensor y, const Tensor& left, const Tensor& right) {
    CHECK_THROWS_AS(matmul_into(y, left, right), std::invalid_argument);
  };
  refuses(ones({2, 2}), a, b);
  refuses(ones({2, 4}), a, a);
  refuses(ones({8}), a, b);
  refuses(ones({2, 4}), a, ones({3}));
  refuses(ones({2, 4}), ones({5, 2, 3}), b);
  refuses(ones({2, 4}, kFloat64), a, b);
  refuses(ones({4, 2}).transpose(0, 1), a, b);
  refuses(ones({1, 1}).expand({2, 4}), a, b);
  refuses(Tensor(), a, b);
}

TEST_CASE("matmul_into: adds to what is there") {
  Tensor y = ones({2, 2});
  const Tensor a = tensor({{1., 2.}, {3., 4.}});
  matmul_into(y, a, a, /*add=*/true);
  CHECK(y.to_vector<double>() == Numbers{8, 11, 16, 23});
  matmul_into(y, Tensor({2, 0}, kFloat32), Tensor({0, 2}, kFloat32), true);
  CHECK(y.to_vector<double>() == Numbers{8, 11, 16, 23});
  matmul_into(y, a, a);
  CHECK(y.to_vector<double>() == Numbers{7, 10, 15, 22});
}

TEST_CASE("matmul: what does not fit is named with both shapes") {
  CHECK_THROWS_WITH_AS(
      matmul(zeros({8, 10, 512}), zeros({256, 64})),
      "matmul: inner dimensions must agree, got a [8, 10, 512] and b [256, 64]",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      matmul(zeros({3}), zeros({4})),
      "matmul: inner dimensions must agree, got a [3] and b [4]",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      matmul(tensor(1.), zeros({1, 2})),
      "matmul: a and b must have at least one dimension, got a [] and b [1, 2]",
      std::invalid_argument);
  CHECK_THROWS_AS(
      matmul(zeros({2, 3, 4}), zeros({3, 4, 5})), std::invalid_argument);
  CHECK_THROWS_AS(
      matmul(zeros({2, 2}), zeros({2, 2}, kFloat64)), std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      matmul(zeros({2, 2}, kInt64), zeros({2, 2}, kInt64)),
      "matmul: dtype must be float32 or float64, got int64",
      std::invalid_argument);
  CHECK_THROWS_AS(matmul(Tensor(), zeros({2, 2})), std::invalid_argument);
}
