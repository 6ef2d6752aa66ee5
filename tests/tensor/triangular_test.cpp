#include "tensor/triangular.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "tensor/creation.h"

using namespace heed;

TEST_CASE("tril and triu: keep one side of any diagonal, diagonal included") {
  for (const Shape& shape : {Shape{3, 5}, Shape{5, 3}, Shape{1, 1}}) {
    const Tensor x = arange(1, shape.numel() + 1).reshape(shape);
    for (int64_t diagonal = -7; diagonal <= 7; ++diagonal) {
      CAPTURE(diagonal);
      std::vector<double> lower, upper;
      for (int64_t i = 0; i < shape[0]; ++i) {
        for (int64_t j = 0; j < shape[1]; ++j) {
          const auto v = static_cast<double>(i * shape[1] + j + 1);
          lower.push_back(j - i <= diagonal ? v : 0);
          upper.push_back(j - i >= diagonal ? v : 0);
        }
      }
      CHECK(tril(x, diagonal).to_vector<double>() == lower);
      CHECK(triu(x, diagonal).to_vector<double>() == upper);
    }
  }
}

TEST_CASE("tril and triu: batches, strides, dtypes and empty tensors") {
  const Tensor x = arange(8).reshape({2, 2, 2});
  using Numbers = std::vector<double>;
  CHECK(tril(x).to_vector<double>() == Numbers{0, 0, 2, 3, 4, 0, 6, 7});
  CHECK(
      triu(x.transpose(1, 2)).to_vector<double>() ==
      Numbers{0, 2, 0, 3, 4, 6, 0, 7});
  const Tensor causal = triu(ones({3, 3}, kBool), 1);
  CHECK(causal.dtype() == kBool);
  CHECK(causal.to_vector<double>() == Numbers{0, 1, 1, 0, 0, 1, 0, 0, 0});
  CHECK(tril(zeros({0, 3})).shape() == Shape{0, 3});
  CHECK(triu(zeros({2, 3, 0})).shape() == Shape{2, 3, 0});
  CHECK(tril(full({2, 2}, NAN))[0][1].item<double>() == 0);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  CHECK(tril(x, kMost).to_vector<double>() == x.to_vector<double>());
  CHECK(triu(x, kLeast).to_vector<double>() == x.to_vector<double>());
  CHECK(tril(x, kLeast).to_vector<double>() == Numbers(8, 0.0));
  CHECK(triu(x, kMost).to_vector<double>() == Numbers(8, 0.0));
}

TEST_CASE("tril and triu: refuse what is no matrix") {
  CHECK_THROWS_WITH_AS(
      tril(zeros({3})),
      "tril: x must have shape [..., M, N], got [3]",
      std::invalid_argument);
  CHECK_THROWS_AS(triu(tensor(1.)), std::invalid_argument);
  CHECK_THROWS_AS(triu(Tensor()), std::invalid_argument);
}
