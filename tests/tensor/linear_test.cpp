#include "tensor/linear.h"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "tensor/creation.h"
#include "tensor/parallel.h"

using namespace heed;

namespace {

using Numbers = std::vector<double>;

/// Fixed numbers in [-1, 1).
Tensor noise(const Shape& shape, uint64_t seed) {
  Tensor x(shape, kFloat32);
  float* v = x.mutable_data<float>();
  uint64_t state = seed;
  for (int64_t i = 0; i < x.numel(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v[i] = static_cast<float>(static_cast<int32_t>(state >> 32)) * 0x1p-31f;
  }
  return x;
}

}  // namespace

TEST_CASE("linear: y = x weight^T + bias for any rank of x") {
  const Tensor weight = tensor({{1., 2.}, {3., 4.}, {5., 6.}});
  const Tensor bias = tensor({10., 20., 30.});
  const Tensor x = tensor({1., -1.});
  CHECK(linear(x, weight, bias).to_vector<double>() == Numbers{9, 19, 29});
  CHECK(linear(x, weight).to_vector<double>() == Numbers{-1, -1, -1});
  const Tensor many = x.expand({2, 4, 2});
  const Tensor y = linear(many, weight, bias);
  CHECK(y.shape() == Shape{2, 4, 3});
  CHECK(y[1][3].to_vector<double>() == Numbers{9, 19, 29});
  const Tensor wt = weight.transpose(0, 1).contiguous().transpose(0, 1);
  CHECK(linear(x, wt, bias).to_vector<double>() == Numbers{9, 19, 29});
}

TEST_CASE("linear: empty batches, no inputs, no outputs") {
  const Tensor bias = tensor({1., 2., 3.});
  CHECK(linear(zeros({0, 4}), zeros({3, 4}), bias).shape() == Shape{0, 3});
  CHECK(
      linear(zeros({2, 0}), zeros({3, 0}), bias).to_vector<double>() ==
      Numbers{1, 2, 3, 1, 2, 3});
  CHECK(
      linear(zeros({1, 0}), zeros({3, 0})).to_vector<double>() ==
      Numbers{0, 0, 0});
  CHECK(linear(zeros({2, 4}), zeros({0, 4})).shape() == Shape{2, 0});
}

TEST_CASE("linear: a row's result hardly depends on where it stands") {
  const Tensor x = noise({16, 784}, 1);
  const Tensor weight = noise({128, 784}, 2);
  const Tensor bias = noise({128}, 3);
  const int before = num_threads();
  set_num_threads(1);
  const std::vector<float> y = linear(x, weight, bias).to_vector<float>();
  CHECK(linear(x, weight, bias).to_vector<float>() == y);
  set_num_threads(2);
  CHECK(linear(x, weight, bias).to_vector<float>() == y);
  float largest = 0;
  for (float v : y) {
    largest = std::fmax(largest, std::fabs(v));
  }
  for (int64_t i = 0; i < 16; ++i) {
    const std::vector<float> alone =
        linear(x.slice(0, i, i + 1), weight, bias).to_vector<float>();
    for (int64_t j = 0; j < 128; ++j) {
      CHECK(std::fabs(alone[j] - y[i * 128 + j]) <= 1e-6f * largest);
    }
  }
  set_num_threads(before);
}

TEST_CASE("linear: what does not fit is named") {
  CHECK_THROWS_WITH_AS(
      linear(zeros({2, 7}), zeros({3, 8})),
      "linear: x must have shape [..., 8], got [2, 7]",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      linear(zeros({2, 8}), zeros({8})),
      "linear: weight must have shape [out, in], got [8]",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      linear(zeros({2, 8}), zeros({3, 8}), zeros({8})),
      "linear: bias must have shape [3], got [8]",
      std::invalid_argument);
  CHECK_THROWS_AS(linear(tensor(1.), zeros({3, 1})), std::invalid_argument);
  CHECK_THROWS_AS(
      linear(zeros({2, 8}), zeros({3, 8}, kFloat64)), std::invalid_argument);
  CHECK_THROWS_AS(
      linear(zeros({2, 8}, kInt64), zeros({3, 8}, kInt64)),
      std::invalid_argument);
}
