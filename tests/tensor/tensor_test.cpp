#include "tensor/tensor.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "tensor/comparison.h"
#include "tensor/creation.h"

using namespace heed;

TEST_CASE("Tensor: a default one is undefined and says so") {
  const Tensor none;
  CHECK_FALSE(none.defined());
  CHECK(none.version() == 0);
  CHECK_FALSE(none.is_unique());
  CHECK_THROWS_AS(none.data<float>(), std::invalid_argument);
  CHECK_THROWS_AS(none.item<float>(), std::invalid_argument);
  CHECK_THROWS_AS(none.reshape({1}), std::invalid_argument);
  CHECK_THROWS_AS(none.clone(), std::invalid_argument);
  CHECK_THROWS_AS(none.to(kInt64), std::invalid_argument);
  Tensor target;
  CHECK_THROWS_AS(target.fill_(1), std::invalid_argument);
  CHECK_THROWS_AS(target.add_(ones({1})), std::invalid_argument);
}

TEST_CASE("Tensor: memory is aligned to 64 bytes") {
  for (int64_t n : {0, 1, 17, 1000}) {
    const Tensor x({n}, kBool);
    CHECK(reinterpret_cast<uintptr_t>(x.data<bool>()) % 64 == 0);
  }
}

TEST_CASE("Tensor: bytes that overflow are refused") {
  const int64_t n = int64_t{1} << 61;
  CHECK_THROWS_AS(Tensor({n}, kFloat64), std::invalid_argument);
  CHECK_THROWS_AS(Tensor({n}, kBool), std::invalid_argument);
  CHECK_THROWS_AS(zeros({n, 0}).expand({n, -1, 8}), std::invalid_argument);
}

TEST_CASE("Tensor: the element type must be the dtype's") {
  Tensor x = ones({2});
  CHECK_THROWS_WITH_AS(
      x.data<double>(),
      "data: the element type must be float32, got float64",
      std::invalid_argument);
  CHECK_THROWS_AS(x.mutable_data<int64_t>(), std::invalid_argument);
}

TEST_CASE("item: of one element in any shape, and no other") {
  CHECK(tensor(2.5).item<double>() == 2.5);
  CHECK(tensor({{{7}}}).item<int>() == 7);
  CHECK(tensor(true).item<bool>());
  CHECK_THROWS_WITH_AS(
      ones({2, 1}).item<float>(),
      "item: the tensor must have one element, got shape [2, 1]",
      std::invalid_argument);
  CHECK_THROWS_AS(ones({0}).item<float>(), std::invalid_argument);
}

TEST_CASE("to: converts, truncating to integers") {
  const Tensor x = tensor({-1.75, 0.0, 2.9});
  CHECK(equal(x.to(kInt64), tensor({-1, 0, 2})));
  CHECK(equal(x.to(kBool), tensor({true, false, true})));
  CHECK(
      equal(tensor({true, false}).to(kFloat64), tensor({1.0, 0.0}, kFloat64)));
  CHECK(x.to(kFloat32).shares_storage(x));
}

TEST_CASE("to: what no int64 holds becomes the nearest one, NaN 0") {
  const double inf = std::numeric_limits<double>::infinity();
  const int64_t most = std::numeric_limits<int64_t>::max();
  const int64_t least = std::numeric_limits<int64_t>::min();
  for (DType dtype : {kFloat32, kFloat64}) {
    const Tensor x = tensor({inf, -inf, std::nan(""), 1e30, -0x1p63}, dtype);
    CHECK(equal(x.to(kInt64), tensor({most, least, int64_t{0}, most, least})));
  }
  CHECK(tensor(1e30).item<int>() == std::numeric_limits<int>::max());
}

TEST_CASE("to: NaN is true") {
  CHECK(tensor(std::nan("")).to(kBool).item<bool>());
}

TEST_CASE("to_vector: row-major, whatever the strides") {
  const Tensor x = arange(6).reshape({2, 3}).transpose(0, 1);
  CHECK(x.to_vector<int64_t>() == std::vector<int64_t>{0, 3, 1, 4, 2, 5});
  CHECK(x.to_vector<float>() == std::vector<float>{0, 3, 1, 4, 2, 5});
  CHECK(x.to_vector<bool>()[0] == false);
  CHECK(zeros({0, 3}).to_vector<float>().empty());
}

TEST_CASE("clone: has storage of its own; contiguous only when it must") {
  Tensor x = arange(4, kFloat32);
  const Tensor copy = x.clone();
  x.fill_(9);
  CHECK(equal(copy, arange(4, kFloat32)));
  CHECK(x.contiguous().shares_storage(x));
  const Tensor turned = x.reshape({2, 2}).transpose(0, 1);
  CHECK_FALSE(turned.is_contiguous());
  CHECK_FALSE(turned.contiguous().shares_storage(x));
}

TEST_CASE("is_contiguous: sizes of 0 and 1 do not mind their strides") {
  CHECK(zeros({0, 3, 2}).permute({2, 0, 1}).is_contiguous());
  CHECK(zeros({1, 5}).transpose(0, 1).is_contiguous());
  CHECK(zeros({}).is_contiguous());
  CHECK_FALSE(zeros({5, 2}).slice(0, 0, 5, 2).is_contiguous());
  CHECK(zeros({5, 2}).slice(0, 1, 3).is_contiguous());
  CHECK_FALSE(zeros({1}).expand({3}).is_contiguous());
}

TEST_CASE("version: each write counts, through views too; reading does not") {
  Tensor x = zeros({4});
  const uint32_t before = x.version();
  x.to_vector<float>();
  x.slice(0, 0, 2).clone();
  CHECK(x.version() == before);
  x.slice(0, 0, 2).fill_(1);
  CHECK(x.version() > before);
}

TEST_CASE("version: a refused write does not count") {
  Tensor x = zeros({4});
  const uint32_t before = x.version();
  CHECK_THROWS_AS(x.add_(ones({3})), std::invalid_argument);
  CHECK_THROWS_AS(x.copy_(ones({4}, kFloat64)), std::invalid_argument);
  CHECK_THROWS_AS(x.clamp_(2, 1), std::invalid_argument);
  CHECK(x.version() == before);
  CHECK(equal(x, zeros({4})));
}
