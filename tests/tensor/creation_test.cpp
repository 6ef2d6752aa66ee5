#include "tensor/creation.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "tensor/comparison.h"

using namespace heed;

namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

bool is(const Tensor& x, DType dtype, const Shape& shape) {
  return x.dtype() == dtype && x.shape() == shape;
}

}  // namespace

TEST_CASE("zeros, ones, full: float32 unless a dtype is given") {
  CHECK(is(zeros({2, 3}), kFloat32, {2, 3}));
  CHECK(is(ones({}), kFloat32, {}));
  CHECK(is(full({0, 4}, 2), kFloat32, {0, 4}));
  CHECK(ones({3}, kBool).to_vector<bool>() == std::vector<bool>(3, true));
  CHECK(
      full({2}, 7, kInt64).to_vector<int64_t>() == std::vector<int64_t>{7, 7});
  CHECK(full({2}, 0.5, kFloat64)[1].item<double>() == 0.5);
  CHECK_THROWS_WITH_AS(
      full({2}, 0.5, kInt64),
      "full: a tensor of dtype int64 takes integer scalars, got 0.5",
      std::invalid_argument);
}

TEST_CASE("zeros_like, ones_like, full_like: shape and dtype of another") {
  const Tensor x = zeros({2, 3}, kFloat64).transpose(0, 1);
  CHECK(is(zeros_like(x), kFloat64, {3, 2}));
  CHECK(equal(ones_like(x), ones({3, 2}, kFloat64)));
  CHECK(equal(full_like(x, 4), full({3, 2}, 4, kFloat64)));
  CHECK_THROWS_AS(zeros_like(Tensor()), std::invalid_argument);
}

TEST_CASE("arange: int64 from integers, float32 from anything else") {
  CHECK(equal(arange(4), tensor({0, 1, 2, 3})));
  CHECK(equal(arange(2, 10, 3), tensor({2, 5, 8})));
  CHECK(equal(arange(5, 0, -2), tensor({5, 3, 1})));
  CHECK(equal(arange(0, 1, 0.25), tensor({0., 0.25, 0.5, 0.75})));
  CHECK(equal(arange(3, kFloat64), tensor({0, 1, 2}, kFloat64)));
  CHECK(is(arange(2.5), kFloat32, {3}));
  CHECK(equal(arange(1, 0, -0.5, kFloat32), tensor({1., 0.5})));
}

TEST_CASE("arange: empty when stop is not ahead") {
  CHECK(is(arange(0), kInt64, {0}));
  CHECK(is(arange(-3), kInt64, {0}));
  CHECK(is(arange(1.0, 1.0), kFloat32, {0}));
  CHECK(is(arange(0, 5, -1), kInt64, {0}));
}

TEST_CASE("arange: element i does not carry the rounding of those before") {
  const Tensor x = arange(0, 100000, 0.1, kFloat64);
  CHECK(x.numel() == 1000000);
  CHECK(x[999999].item<double>() == 999999 * 0.1);
}

TEST_CASE("arange: the widest integers") {
  CHECK(equal(arange(kMost - 2, kMost), tensor({kMost - 2, kMost - 1})));
  CHECK(equal(
      arange(kLeast, kMost, kMost), tensor({kLeast, int64_t{-1}, kMost - 1})));
  CHECK_THROWS_AS(arange(kLeast, kMost), std::invalid_argument);
  CHECK(arange(kMost, kLeast, kLeast).numel() == 2);
}

TEST_CASE("arange: refuses what is no range") {
  CHECK_THROWS_WITH_AS(
      arange(0, 3, 0), "arange: step must not be 0", std::invalid_argument);
  CHECK_THROWS_AS(arange(0.0, 3.0, 0.0), std::invalid_argument);
  CHECK_THROWS_AS(arange(std::nan("")), std::invalid_argument);
  CHECK_THROWS_AS(
      arange(std::numeric_limits<double>::infinity()), std::invalid_argument);
  CHECK_THROWS_AS(arange(0, 1e30, 1e-3), std::invalid_argument);
  CHECK_THROWS_AS(arange(3, kBool), std::invalid_argument);
  CHECK_THROWS_AS(arange(0, 3, 0.5, kInt64), std::invalid_argument);
}

TEST_CASE("tensor: the dtype is that of what is written") {
  CHECK(is(tensor(2.5), kFloat32, {}));
  CHECK(is(tensor(2), kInt64, {}));
  CHECK(is(tensor(true), kBool, {}));
  CHECK(is(tensor({1, 2, 3}), kInt64, {3}));
  CHECK(is(tensor({1.0f, 2.0f}), kFloat32, {2}));
  CHECK(is(tensor({1, 2.5}), kFloat32, {2}));
  CHECK(is(tensor({true, false}), kBool, {2}));
  CHECK(is(tensor({true, 2}), kInt64, {2}));
  CHECK(is(tensor({1, 2}, kFloat64), kFloat64, {2}));
  CHECK(is(tensor({0, 3}, kBool), kBool, {2}));
  CHECK(tensor({0, 3}, kBool)[1].item<bool>());
  CHECK(tensor({kMost})[0].item<int64_t>() == kMost);
}

TEST_CASE("tensor: nesting gives the shape") {
  CHECK(is(tensor({3}), kInt64, {1}));
  CHECK(is(tensor({{1, 2}}), kInt64, {1, 2}));
  CHECK(is(tensor({{1}, {2}}), kInt64, {2, 1}));
  CHECK(is(tensor({{{1., 2.}}, {{3., 4.}}}), kFloat32, {2, 1, 2}));
  CHECK(
      tensor({{1, 2, 3}, {4, 5, 6}}).to_vector<int64_t>() ==
      std::vector<int64_t>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("tensor: ragged rows are refused") {
  CHECK_THROWS_WITH_AS(
      tensor({{1, 2}, {3}}),
      "tensor: rows must agree in length and depth, the first ones giving "
      "shape [2, 2], got a row of 1 at depth 1",
      std::invalid_argument);
  CHECK_THROWS_AS(tensor({{1, 2}, {3, 4, 5}}), std::invalid_argument);
  CHECK_THROWS_AS(tensor({{1, 2}, 3}), std::invalid_argument);
  CHECK_THROWS_AS(tensor({1, {2, 3}}), std::invalid_argument);
  CHECK_THROWS_AS((tensor({{{1}, {2}}, {{3}, {4, 5}}})), std::invalid_argument);
  CHECK_THROWS_AS(tensor({0.5}, kInt64), std::invalid_argument);
}

TEST_CASE("from_vector and from_buffer: keep the type, copy the numbers") {
  std::vector<double> doubles{1, 2, 3, 4, 5, 6};
  const Tensor x = from_vector(doubles, {2, 3});
  doubles[0] = 9;
  CHECK(equal(x, tensor({{1, 2, 3}, {4, 5, 6}}, kFloat64)));
  CHECK(is(from_vector(std::vector<float>{1, 2}), kFloat32, {2}));
  CHECK(is(from_vector(std::vector<int>{1, 2}), kInt64, {2}));
  CHECK(is(from_vector(std::vector<int64_t>{}), kInt64, {0}));
  CHECK(equal(
      from_vector(std::vector<bool>{true, false}), tensor({true, false})));
  const int64_t numbers[] = {7, 8};
  CHECK(equal(from_buffer(numbers, {1, 2}), tensor({{7, 8}})));
  CHECK(from_buffer<float>(nullptr, {0}).numel() == 0);
}

TEST_CASE("from_vector and from_buffer: the numbers must fill the shape") {
  CHECK_THROWS_WITH_AS(
      from_vector(std::vector<float>{1, 2, 3}, {2, 2}),
      "from_vector: shape must hold as many elements as there are values, got "
      "[2, 2] for 3",
      std::invalid_argument);
  CHECK_THROWS_AS(from_vector(std::vector<float>{}, {}), std::invalid_argument);
  CHECK_THROWS_AS(from_buffer<float>(nullptr, {1}), std::invalid_argument);
}
