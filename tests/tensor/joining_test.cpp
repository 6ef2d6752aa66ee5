#include "tensor/joining.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

using namespace heed;

namespace {

/// 0, 1, 2, ... in the given shape.
Tensor counting(const Shape& shape, DType dtype = kFloat32) {
  Tensor x(shape, kInt64);
  int64_t* v = x.mutable_data<int64_t>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    v[i] = i;
  }
  return x.to(dtype);
}

using Numbers = std::vector<double>;

}  // namespace

TEST_CASE("cat: lays tensors behind one another along any dimension") {
  const Tensor a = counting({2, 2});
  const Tensor b = counting({2, 1});
  const Tensor y = cat({a, b}, 1);
  CHECK(y.shape() == Shape{2, 3});
  CHECK(y.to_vector<double>() == Numbers{0, 1, 0, 2, 3, 1});
  CHECK(
      cat({a, a.transpose(0, 1)}, -2).to_vector<double>() ==
      Numbers{0, 1, 2, 3, 0, 2, 1, 3});
  CHECK(!y.shares_storage(a));
}

TEST_CASE("cat: every dtype, one tensor and empty tensors") {
  for (DType dtype : {kFloat32, kFloat64, kInt64, kBool}) {
    CAPTURE(static_cast<int>(dtype));
    const Tensor x = counting({3, 2}, dtype);
    const Tensor y = cat({x, x.slice(0, 0, 0), x.slice(0, 1, 2)});
    CHECK(y.dtype() == dtype);
    CHECK(y.shape() == Shape{4, 2});
    CHECK(y[3].to_vector<double>() == x[1].to_vector<double>());
  }
  CHECK(!cat({counting({2})}).shares_storage(counting({2})));
}

TEST_CASE("cat: what does not fit is named") {
  const Tensor a = counting({2, 3});
  CHECK_THROWS_WITH_AS(
      cat(std::vector<Tensor>{}),
      "cat: there must be at least one tensor, got none",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      cat({a, counting({3, 2})}, 0),
      "cat: all tensors must have the same shape except in the joined "
      "dimension, got [2, 3] for tensor 0 and [3, 2] for tensor 1",
      std::invalid_argument);
  CHECK_THROWS_AS(cat({a, counting({3})}), std::invalid_argument);
  CHECK_THROWS_AS(cat({a, a.to(kFloat64)}), std::invalid_argument);
  CHECK_THROWS_AS(cat({a, Tensor()}), std::invalid_argument);
  CHECK_THROWS_AS(cat({a, a}, 2), std::invalid_argument);
  const Tensor number = counting({});
  CHECK_THROWS_AS(cat({number, number}), std::invalid_argument);
}

TEST_CASE("stack: joins along a new dimension") {
  const Tensor a = counting({2, 2});
  const Tensor b = a.transpose(0, 1);
  CHECK(stack({a, b}).shape() == Shape{2, 2, 2});
  CHECK(
      stack({a, b}, -1).to_vector<double>() == Numbers{0, 0, 1, 2, 2, 1, 3, 3});
  CHECK(
      stack({a, b}, 1).to_vector<double>() == Numbers{0, 1, 0, 2, 2, 3, 1, 3});
  CHECK(stack({counting({}), counting({})}).shape() == Shape{2});
  CHECK_THROWS_WITH_AS(
      stack({a, a.slice(0, 0, 1)}),
      "stack: all tensors must have the same shape, got [2, 2] for tensor 0 "
      "and [1, 2] for tensor 1",
      std::invalid_argument);
  CHECK_THROWS_AS(stack(std::vector<Tensor>{}), std::invalid_argument);
  CHECK_THROWS_AS(stack({a, a}, 3), std::invalid_argument);
}

TEST_CASE("split: views of a size, the last one of what is left") {
  const Tensor x = counting({2, 5});
  const std::vector<Tensor> parts = split(x, 2, -1);
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].to_vector<double>() == Numbers{0, 1, 5, 6});
  CHECK(parts[2].to_vector<double>() == Numbers{4, 9});
  CHECK(parts[1].shares_storage(x));
  CHECK(split(x.slice(0, 0, 0), 2).size() == 1);
  CHECK_THROWS_AS(split(x, 0), std::invalid_argument);
  CHECK_THROWS_AS(split(x, 2, 2), std::invalid_argument);
}

TEST_CASE("split: views of given sizes, which must add up") {
  const Tensor x = counting({5});
  const std::vector<Tensor> parts = split(x, {1, 0, 4});
  REQUIRE(parts.size() == 3);
  CHECK(parts[1].numel() == 0);
  CHECK(parts[2].to_vector<double>() == Numbers{1, 2, 3, 4});
  CHECK_THROWS_AS(split(x, {1, 3}), std::invalid_argument);
  CHECK_THROWS_AS(split(x, {4, 4}), std::invalid_argument);
  CHECK_THROWS_AS(split(x, {6, -1}), std::invalid_argument);
}

TEST_CASE("chunk: equal views, fewer when the dimension ends before") {
  const Tensor x = counting({5});
  CHECK(chunk(x, 2)[0].numel() == 3);
  CHECK(chunk(x, 2)[1].numel() == 2);
  CHECK(chunk(x, 4).size() == 3);
  CHECK(chunk(x, 9).size() == 5);
  CHECK(chunk(x.slice(0, 0, 0), 3).size() == 1);
  CHECK_THROWS_AS(chunk(x, 0), std::invalid_argument);
}
