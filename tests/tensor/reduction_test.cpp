#include "tensor/reduction.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "tensor/creation.h"
#include "tensor/parallel.h"

using namespace heed;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Sets the number of threads for one test and puts it back.
class Threads {
 public:
  explicit Threads(int n) : before_(num_threads()) { set_num_threads(n); }
  ~Threads() { set_num_threads(before_); }

 private:
  int before_;
};

/// Numbers of no pattern, about -1 .. 1.
Tensor wavy(const Shape& shape, DType dtype = kFloat32) {
  std::vector<double> values(shape.numel());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(0.7 + 12.9898 * static_cast<double>(i));
  }
  return from_vector(values, shape).to(dtype);
}

/// The elements that each element of a reduction is made of, in row-major order
/// of the result: the naive way.
std::vector<std::vector<double>> folds(const Tensor& x, const Dims& dims) {
  const Dims reduced = normalize_dims("folds", dims, x.dim());
  const Shape kept = reduced_shape(x.shape(), reduced, true);
  std::vector<std::vector<double>> groups(kept.numel());
  const std::vector<double> values = x.to_vector<double>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    int64_t rest = i;
    int64_t group = 0;
    int64_t scale = 1;
    for (int64_t d = x.dim() - 1; d >= 0; --d) {
      const int64_t index = rest % x.shape()[d];
      rest /= x.shape()[d];
      if (!reduced.contains(d)) {
        group += index * scale;
        scale *= x.shape()[d];
      }
    }
    groups[group].push_back(values[i]);
  }
  return groups;
}

template <typename F>
void check_folds(
    const Tensor& y, const Tensor& x, const Dims& dims, const F& expected) {
  const auto groups = folds(x, dims);
  const auto values = y.to_vector<double>();
  REQUIRE(values.size() == groups.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    CHECK(values[i] == doctest::Approx(expected(groups[i])).epsilon(1e-6));
  }
}

double sum_of(const std::vector<double>& v) {
  double total = 0;
  for (const double x : v) {
    total += x;
  }
  return total;
}

double var_of(const std::vector<double>& v, int64_t correction) {
  const double count = static_cast<double>(v.size());
  const double center = sum_of(v) / count;
  double total = 0;
  for (const double x : v) {
    total += (x - center) * (x - center);
  }
  return total / (count - static_cast<double>(correction));
}

std::vector<float> floats(const Tensor& x) { return x.to_vector<float>(); }
std::vector<int64_t> integers(const Tensor& x) {
  return x.to_vector<int64_t>();
}

/// The same bits, NaN or not.
bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         std::equal(
             reinterpret_cast<const char*>(a.data<float>()),
             reinterpret_cast<const char*>(a.data<float>() + a.numel()),
             reinterpret_cast<const char*>(b.data<float>()));
}

}  // namespace

TEST_CASE(
    "reductions: every set of dimensions of every layout agrees with the "
    "naive way") {
  const Tensor base = wavy({4, 3, 6, 5});
  const std::vector<Tensor> layouts = {
      base,
      base.transpose(1, 3),
      base.permute({2, 0, 3, 1}),
      base.slice(2, 1, 6, 2),
      base.slice(3, 0, 2),
      base.select(1, 2).unsqueeze(2).expand({4, 6, 3, 5}),
      wavy({1, 5, 1, 2}),
      wavy({3, 1, 1, 40}).expand({3, 7, 2, 40})};
  const std::vector<Dims> sets = {
      {0},
      {1},
      {2},
      {3},
      {-1},
      {0, 1},
      {0, 2},
      {0, 3},
      {1, 2},
      {1, 3},
      {2, 3},
      {0, 1, 2},
      {0, 2, 3},
      {0, 1, 3},
      {3, 1},
      {},
      {-1, 0},
      {1, 2, 3},
      {0, 1, 2, 3}};
  for (const Tensor& x : layouts) {
    for (const Dims& dims : sets) {
      CAPTURE(x.shape());
      CAPTURE(x.strides());
      CAPTURE(dims);
      const Dims reduced = normalize_dims("test", dims, 4);
      CHECK(sum(x, dims).shape() == reduced_shape(x.shape(), reduced, false));
      CHECK(
          sum(x, dims, true).shape() ==
          reduced_shape(x.shape(), reduced, true));
      CHECK(sum(x, dims).is_contiguous());
      check_folds(sum(x, dims), x, dims, sum_of);
      check_folds(mean(x, dims), x, dims, [](const auto& v) {
        return sum_of(v) / static_cast<double>(v.size());
      });
      check_folds(max(x, dims), x, dims, [](const auto& v) {
        return *std::max_element(v.begin(), v.end());
      });
      check_folds(min(x, dims), x, dims, [](const auto& v) {
        return *std::min_element(v.begin(), v.end());
      });
      check_folds(norm(x, dims), x, dims, [](const auto& v) {
        double total = 0;
        for (const double e : v) {
          total += e * e;
        }
        return std::sqrt(total);
      });
      check_folds(logsumexp(x, dims), x, dims, [](const auto& v) {
        double total = 0;
        for (const double e : v) {
          total += std::exp(e);
        }
        return std::log(total);
      });
      if (!dims.empty() &&
          reduced_shape(x.shape(), reduced, true).numel() < x.numel()) {
        check_folds(var(x, dims, 0), x, dims, [](const auto& v) {
          return var_of(v, 0);
        });
      }
    }
    for (int64_t d = -4; d < 4; ++d) {
      check_folds(argmax(x, d), x, d, [](const auto& v) {
        return std::max_element(v.begin(), v.end()) - v.begin();
      });
      check_folds(argmin(x, d, true), x, d, [](const auto& v) {
        return std::min_element(v.begin(), v.end()) - v.begin();
      });
    }
    const std::vector<double> all_values = x.to_vector<double>();
    CHECK(
        argmax(x).item<int64_t>() ==
        std::max_element(all_values.begin(), all_values.end()) -
            all_values.begin());
    CHECK(sum(x).item<double>() == doctest::Approx(sum_of(all_values)));
  }
}

TEST_CASE(
    "reductions: long rows and tall columns, cut into blocks, agree with "
    "the naive way") {
  for (const Tensor& x :
       {wavy({2, 70001}),
        wavy({70001, 2}),
        wavy({700, 600}),
        wavy({3, 130, 521}),
        wavy({2, 33000, 3})}) {
    for (int64_t d = 0; d < x.dim(); ++d) {
      CAPTURE(x.shape());
      CAPTURE(d);
      const auto groups = folds(x, d);
      const auto close = [&](const Tensor& y, auto f) {
        const auto values = y.to_vector<double>();
        REQUIRE(values.size() == groups.size());
        double worst = 0;
        for (size_t i = 0; i < groups.size(); ++i) {
          worst = std::max(worst, std::abs(values[i] - f(groups[i])));
        }
        CHECK(worst < 1e-5);
      };
      close(sum(x, d), sum_of);
      close(var(x, d), [](const auto& v) { return var_of(v, 1); });
      close(max(x, d), [](const auto& v) {
        return *std::max_element(v.begin(), v.end());
      });
      close(argmin(x, d), [](const auto& v) {
        return std::min_element(v.begin(), v.end()) - v.begin();
      });
    }
  }
}

TEST_CASE("sum: float32 does not stop growing at 2^24") {
  CHECK(sum(ones({16777218})).item<double>() == 16777218);
  CHECK(
      sum(full({1392640}, 0.1)).item<double>() ==
      doctest::Approx(139264).epsilon(2.0 / 139264));
  const Tensor pairs = ones({20000000, 2});
  CHECK(floats(mean(pairs, 0)) == std::vector<float>{1, 1});
  CHECK(floats(mean(pairs.transpose(0, 1), 1)) == std::vector<float>{1, 1});
  CHECK(mean(pairs).item<float>() == 1);
  const Tensor rows = ones({2, 1}).expand({2, 16777218});
  CHECK(floats(sum(rows, 1)) == std::vector<float>{16777218, 16777218});
}

TEST_CASE("reductions: of an empty dimension") {
  const Tensor z = zeros({2, 0});
  CHECK(max(z, 0).shape() == Shape{0});
  CHECK(argmax(z, 0).shape() == Shape{0});
  CHECK_THROWS_WITH_AS(
      max(z, 1),
      "max: there must be elements to choose from, got shape [2, 0] over "
      "dimensions [1]",
      std::invalid_argument);
  CHECK_THROWS_AS(min(z), std::invalid_argument);
  CHECK_THROWS_AS(argmax(z, 1), std::invalid_argument);
  CHECK_THROWS_AS(argmin(z), std::invalid_argument);
  CHECK(floats(sum(z, 1)) == std::vector<float>{0, 0});
  CHECK(sum(z, 0).shape() == Shape{0});
  CHECK(!std::signbit(sum(z).item<float>()));
  CHECK(sum(z).item<float>() == 0);
  CHECK(floats(norm(z, 1)) == std::vector<float>{0, 0});
  CHECK(floats(logsumexp(z, 1)) == std::vector<float>(2, -kInfinity));
  for (const float v : floats(mean(z, 1))) {
    CHECK(std::isnan(v));
  }
  for (const float v : floats(var(z, 1))) {
    CHECK(std::isnan(v));
  }
  const Tensor none = zeros({2, 0}, kBool);
  CHECK(integers(any(none, 1)) == std::vector<int64_t>{0, 0});
  CHECK(integers(all(none, 1)) == std::vector<int64_t>{1, 1});
}

TEST_CASE("max and argmax: NaN wins, ties go to the lowest index") {
  const Tensor x = tensor({3.f, kNaN, 1.f, 5.f});
  CHECK(argmax(x).item<int64_t>() == 1);
  CHECK(argmin(x).item<int64_t>() == 1);
  CHECK(std::isnan(max(x).item<float>()));
  CHECK(std::isnan(min(x).item<float>()));
  CHECK(argmax(tensor({kNaN, 1.f, kNaN})).item<int64_t>() == 0);
  CHECK(argmax(full({3}, -kInfinity)).item<int64_t>() == 0);
  CHECK(argmin(full({3}, kInfinity)).item<int64_t>() == 0);
  for (const int n : {1, 2, 4}) {
    const Threads threads(n);
    const Tensor ties = tensor({2, 5, 5, 1});
    CHECK(argmax(ties).item<int64_t>() == 1);
    CHECK(argmin(tensor({2, 1, 5, 1})).item<int64_t>() == 1);
    CHECK(
        integers(argmax(ties.unsqueeze(1).expand({4, 3}), 0)) ==
        std::vector<int64_t>{1, 1, 1});
    Tensor equal_rows = zeros({100000, 3});
    equal_rows.select(0, 70000).fill_(1);
    equal_rows.select(0, 99999).fill_(1);
    CHECK(
        integers(argmax(equal_rows, 0)) ==
        std::vector<int64_t>{70000, 70000, 70000});
    equal_rows.select(0, 60001).select(0, 1).fill_(kNaN);
    CHECK(argmax(equal_rows, 0)[1].item<int64_t>() == 60001);
    const Tensor column = equal_rows.select(1, 2);
    CHECK(argmax(column).item<int64_t>() == 70000);
    CHECK(std::isnan(max(equal_rows).item<float>()));
  }
  CHECK(
      max(tensor({std::numeric_limits<int64_t>::lowest()})).item<int64_t>() ==
      std::numeric_limits<int64_t>::lowest());
  CHECK(argmax(tensor(3.0)).item<int64_t>() == 0);
  CHECK(argmax(tensor(3.0), -1).shape() == Shape{});
}

TEST_CASE("reductions: the same bits for 1, 2 and 4 threads") {
  const Tensor x = wavy({300, 1100});
  const Tensor deep = wavy({7, 900, 33});
  std::vector<Tensor> first;
  for (const int n : {1, 2, 4}) {
    const Threads threads(n);
    const std::vector<Tensor> now = {
        sum(x),
        sum(x, 0),
        sum(x, 1),
        sum(deep, 1),
        sum(deep, {0, 2}),
        sum(x.transpose(0, 1), 0),
        var(x, 0),
        norm(x),
        logsumexp(x, 1)};
    if (first.empty()) {
      first = now;
    }
    for (size_t i = 0; i < now.size(); ++i) {
      CHECK(same_bits(now[i], first[i]));
    }
  }
}

TEST_CASE("sum: counts bools, wraps int64, keeps float64") {
  const Tensor b = tensor({{true, false, true}, {true, true, true}});
  CHECK(sum(b).dtype() == kInt64);
  CHECK(sum(b).item<int64_t>() == 5);
  CHECK(integers(sum(b, 0)) == std::vector<int64_t>{2, 1, 2});
  CHECK(integers(any(b, 1)) == std::vector<int64_t>{1, 1});
  CHECK(integers(all(b, 1)) == std::vector<int64_t>{0, 1});
  CHECK(!all(b).item<bool>());
  const int64_t top = std::numeric_limits<int64_t>::max();
  CHECK(
      sum(tensor({top, int64_t{1}})).item<int64_t>() ==
      std::numeric_limits<int64_t>::lowest());
  CHECK(sum(tensor({1e-9, 1.0}, kFloat64)).item<double>() == 1 + 1e-9);
}

TEST_CASE("sum_to: undoes broadcasting") {
  const Tensor x = wavy({2, 3, 4});
  for (const Shape& shape :
       {Shape{2, 3, 4},
        Shape{3, 4},
        Shape{1, 4},
        Shape{4},
        Shape{2, 1, 4},
        Shape{1, 1, 1},
        Shape{},
        Shape{3, 1}}) {
    CAPTURE(shape);
    CHECK(sum_to(x, shape).shape() == shape);
    CHECK(
        sum(sum_to(x, shape)).item<float>() ==
        doctest::Approx(sum(x).item<float>()).epsilon(1e-5));
  }
  CHECK(
      floats(sum_to(x, {3, 1})) ==
      floats(sum(x, {0, 2}, true).reshape({3, 1})));
  CHECK(floats(sum_to(ones({0, 3}), {1, 3})) == std::vector<float>{0, 0, 0});
  CHECK_THROWS_WITH_AS(
      sum_to(x, {3}),
      "sum_to: shape must broadcast to [2, 3, 4], that of x, got [3]",
      std::invalid_argument);
}

TEST_CASE("var: a large mean does not cancel, corrections as documented") {
  const Tensor x = tensor({1e6, 1e6 + 1, 1e6 + 2, 1e6 + 3});
  CHECK(var(x).item<double>() == doctest::Approx(5.0 / 3));
  CHECK(var(x, {0}, 0).item<double>() == doctest::Approx(1.25));
  CHECK(std::isnan(var(tensor({1.0})).item<double>()));
  CHECK(var(tensor({1.0}), {0}, 0).item<double>() == 0);
  CHECK(std::isinf(var(tensor({1.0, 2.0}), {0}, 3).item<double>()));
}

TEST_CASE("logsumexp: neither overflows nor loses -inf") {
  CHECK(
      logsumexp(tensor({1000.0, 1000.0})).item<double>() ==
      doctest::Approx(1000 + std::log(2.0)));
  CHECK(logsumexp(full({3}, -kInfinity)).item<float>() == -kInfinity);
  CHECK(logsumexp(tensor({kInfinity, 1.f})).item<float>() == kInfinity);
  CHECK(std::isnan(logsumexp(tensor({kNaN, 1.f})).item<float>()));
  CHECK(logsumexp(tensor({-kInfinity, 2.f})).item<float>() == 2);
}

TEST_CASE("logsumexp: rows give what columns do, infinite ones too") {
  for (const int64_t n : {1, 7, 64, 1000, 5003}) {
    Tensor x = wavy({9, n}).mul_(5);
    x[1].fill_(-kInfinity);
    x[2][n / 2].fill_(kInfinity);
    x[3][n / 2].fill_(kNaN);
    x[4].add_(1e30);
    x[5][n - 1].fill_(-kInfinity);
    const Tensor columns = x.transpose(0, 1).contiguous();
    const auto by_rows = logsumexp(x, -1).to_vector<double>();
    const auto by_columns = logsumexp(columns, 0).to_vector<double>();
    for (size_t i = 0; i < 9; ++i) {
      CAPTURE(i);
      if (std::isfinite(by_columns[i])) {
        CHECK(by_rows[i] == doctest::Approx(by_columns[i]).epsilon(1e-6));
      } else {
        CHECK(std::isnan(by_rows[i]) == std::isnan(by_columns[i]));
        CHECK((std::isnan(by_rows[i]) || by_rows[i] == by_columns[i]));
      }
    }
    CHECK(logsumexp(x, {-1}, /*keepdim=*/true).shape() == Shape({9, 1}));
  }
}

TEST_CASE("reductions: bad arguments are refused") {
  const Tensor x = ones({2, 3});
  CHECK_THROWS_AS(sum(x, 2), std::invalid_argument);
  CHECK_THROWS_AS(sum(x, {0, -2}), std::invalid_argument);
  CHECK_THROWS_AS(argmax(x, 2), std::invalid_argument);
  CHECK_THROWS_AS(sum(Tensor()), std::invalid_argument);
  CHECK_THROWS_AS(mean(arange(3)), std::invalid_argument);
  CHECK_THROWS_AS(max(zeros({2}, kBool)), std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      any(x), "any: dtype must be bool, got float32", std::invalid_argument);
}
