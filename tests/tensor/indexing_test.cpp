#include "tensor/indexing.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tensor/creation.h"
#include "tensor/parallel.h"

using namespace heed;

namespace {

using Numbers = std::vector<double>;

/// Sets the number of threads for one test and puts it back.
class Threads {
 public:
  explicit Threads(int n) : before_(num_threads()) { set_num_threads(n); }
  ~Threads() { set_num_threads(before_); }

 private:
  int before_;
};

}  // namespace

TEST_CASE("gather: picks along a dimension") {
  const Tensor x = arange(12).reshape({3, 4});
  const Tensor rows = tensor({{2, 0, 1, 1}});
  CHECK(gather(x, 0, rows).to_vector<double>() == Numbers{8, 1, 6, 7});
  const Tensor columns = tensor({{3, 3}, {0, 1}});
  CHECK(gather(x, -1, columns).to_vector<double>() == Numbers{3, 3, 4, 5});
  CHECK(
      gather(x.transpose(0, 1), 0, columns.transpose(0, 1))
          .to_vector<double>() == Numbers{3, 4, 3, 5});
}

TEST_CASE("gather: every dtype, empty and longer than x") {
  const Tensor index = tensor({1, 0, 1, 1});
  for (DType dtype : {kFloat32, kFloat64, kInt64, kBool}) {
    const Tensor y = gather(tensor({0, 1}).to(dtype), 0, index);
    CHECK(y.dtype() == dtype);
    CHECK(y.to_vector<double>() == Numbers{1, 0, 1, 1});
  }
  CHECK(gather(zeros({0, 3}), 0, zeros({0, 3}, kInt64)).numel() == 0);
  CHECK_THROWS_WITH_AS(
      gather(zeros({0}), 0, index),
      "gather: index cannot choose from 0, got 1 at [0]",
      std::invalid_argument);
}

TEST_CASE("index_select: rows, columns and repeated indices") {
  const Tensor x = arange(12).reshape({3, 4});
  const Tensor index = tensor({2, 0, 2});
  CHECK(index_select(x, 0, index).shape() == Shape{3, 4});
  CHECK(
      index_select(x, 1, index).to_vector<double>() ==
      Numbers{2, 0, 2, 6, 4, 6, 10, 8, 10});
  CHECK(
      index_select(x.transpose(0, 1), -1, index)[1].to_vector<double>() ==
      Numbers{9, 1, 9});
  const Tensor every_other = tensor({0, 9, 1, 9}).slice(0, 0, 4, 2);
  CHECK(
      index_select(x, 0, every_other).to_vector<double>() ==
      Numbers{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(index_select(x, 0, zeros({0}, kInt64)).shape() == Shape{0, 4});
}

TEST_CASE("scatter_add: the inverse way of gather, adding up") {
  const Tensor x = ones({3, 2});
  const Tensor index = tensor({{0, 2}, {0, 2}});
  const Tensor src = tensor({{1., 2.}, {3., 4.}});
  CHECK(
      scatter_add(x, 0, index, src).to_vector<double>() ==
      Numbers{5, 1, 1, 1, 1, 7});
  CHECK(x.to_vector<double>() == Numbers(6, 1.0));
  CHECK(
      scatter_add(zeros({2, 3}), 1, index.transpose(0, 1), src.transpose(0, 1))
          .to_vector<double>() == Numbers{4, 0, 0, 0, 0, 6});
  CHECK(
      scatter_add(arange(3), 0, tensor({1, 1}), tensor({5, 6}))
          .to_vector<double>() == Numbers{0, 12, 2});
  CHECK_THROWS_WITH_AS(
      scatter_add(x, 0, tensor({{0, 1}, {3, 1}}), src),
      "scatter_add: index must be in [0, 2], got 3 at [1, 0]",
      std::invalid_argument);
}

TEST_CASE("scatter_add: the same bits for 1, 2 and 4 threads") {
  const int64_t n = 3000, d = 40;
  Tensor index({n, d}, kInt64);
  Tensor src({n, d}, kFloat32);
  for (int64_t i = 0; i < n * d; ++i) {
    index.mutable_data<int64_t>()[i] = i * 7919 % 11;
    src.mutable_data<float>()[i] = 1.0f / static_cast<float>(1 + i % 97);
  }
  std::vector<float> one;
  for (int threads : {1, 2, 4}) {
    const Threads t(threads);
    const Tensor y = scatter_add(zeros({11, d}), 0, index, src);
    if (threads == 1) {
      one = y.to_vector<float>();
    }
    CHECK(y.to_vector<float>() == one);
  }
}

TEST_CASE("one_hot: a 1 at the place of the id") {
  const Tensor y = one_hot(tensor({{1, 0}}), 3);
  CHECK(y.shape() == Shape{1, 2, 3});
  CHECK(y.dtype() == kFloat32);
  CHECK(y.to_vector<double>() == Numbers{0, 1, 0, 1, 0, 0});
  CHECK(one_hot(tensor({2}), 3, kBool).to_vector<double>() == Numbers{0, 0, 1});
  CHECK(one_hot(zeros({0}, kInt64), 5).shape() == Shape{0, 5});
  CHECK_THROWS_WITH_AS(
      one_hot(tensor({{0, 1}, {2, 3}}), 3),
      "one_hot: ids must be in [0, 2], got 3 at [1, 1]",
      std::invalid_argument);
  CHECK_THROWS_AS(one_hot(tensor({-1}), 3), std::invalid_argument);
  CHECK_THROWS_AS(one_hot(tensor({0.5}), 3), std::invalid_argument);
}

TEST_CASE("indexing: an index out of range in a worker reaches the caller") {
  const Threads t(2);
  const int64_t n = 100000;
  const Tensor x = ones({10});
  for (int64_t place : {int64_t{0}, n / 2, n - 1}) {
    for (int64_t bad : {10, -1}) {
      Tensor index = zeros({n}, kInt64);
      index[place].fill_(bad);
      const std::string tail = "index must be in [0, 9], got " +
                               std::to_string(bad) + " at [" +
                               std::to_string(place) + "]";
      CHECK_THROWS_WITH_AS(
          gather(x, 0, index),
          ("gather: " + tail).c_str(),
          std::invalid_argument);
      CHECK_THROWS_WITH_AS(
          index_select(x, 0, index),
          ("index_select: " + tail).c_str(),
          std::invalid_argument);
      CHECK_THROWS_WITH_AS(
          scatter_add(x, 0, index, ones({n})),
          ("scatter_add: " + tail).c_str(),
          std::invalid_argument);
    }
  }
  CHECK(
      gather(x, 0, zeros({n}, kInt64)).to_vector<double>() == Numbers(n, 1.0));
}

TEST_CASE("indexing: what does not fit is named") {
  const Tensor x = zeros({3, 4});
  CHECK_THROWS_WITH_AS(
      gather(x, 0, zeros({2, 5}, kInt64)),
      "gather: index must have the rank of x and be no larger except in "
      "dimension 0, got index [2, 5] and x [3, 4]",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      gather(x, 0, zeros({2, 4})),
      "gather: index must have dtype int64, got float32",
      std::invalid_argument);
  CHECK_THROWS_AS(gather(x, 2, zeros({2, 4}, kInt64)), std::invalid_argument);
  CHECK_THROWS_AS(gather(x, 0, zeros({2}, kInt64)), std::invalid_argument);
  CHECK_THROWS_AS(
      index_select(x, 0, zeros({1, 1}, kInt64)), std::invalid_argument);
  CHECK_THROWS_AS(index_select(x, 0, Tensor()), std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      scatter_add(x, 0, zeros({2, 4}, kInt64), zeros({2, 3})),
      "scatter_add: index and src must have one shape, got [2, 4] and [2, 3]",
      std::invalid_argument);
  CHECK_THROWS_AS(
      scatter_add(x, 0, zeros({2, 4}, kInt64), zeros({2, 4}, kFloat64)),
      std::invalid_argument);
  CHECK_THROWS_AS(
      scatter_add(zeros({3}, kBool), 0, zeros({3}, kInt64), zeros({3}, kBool)),
      std::invalid_argument);
}
