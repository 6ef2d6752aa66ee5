#include <doctest/doctest.h>

#include <limits>
#include <stdexcept>

#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/tensor.h"

using namespace heed;

namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

// [0, 1, 2, ...] in a shape.
Tensor counting(const Shape& shape) {
  return arange(shape.numel()).reshape(shape);
}

}  // namespace

TEST_CASE("reshape: a view of what is dense") {
  const Tensor x = counting({2, 3, 4});
  for (const Dims& shape :
       {Dims{24}, Dims{4, 6}, Dims{6, -1}, Dims{1, 2, 1, 12}, Dims{-1}}) {
    const Tensor y = x.reshape(shape);
    CHECK(y.shares_storage(x));
    CHECK(equal(y.reshape({24}), arange(24)));
  }
}

TEST_CASE("reshape: a view of strided tensors where the strides allow it") {
  const Tensor x = counting({4, 6});
  const Tensor columns = x.slice(1, 0, 4);  // strides [6, 1]
  CHECK(columns.reshape({4, 2, 2}).shares_storage(x));
  CHECK(columns.reshape({2, 2, 4}).shares_storage(x));
  CHECK_FALSE(columns.reshape({16}).shares_storage(x));
  CHECK_FALSE(columns.reshape({8, 2}).shares_storage(x));
  const Tensor turned = x.transpose(0, 1);
  CHECK(turned.reshape({2, 3, 4}).shares_storage(x));
  CHECK_FALSE(turned.reshape({24}).shares_storage(x));
  CHECK(turned.reshape({2, 3, 2, 1, 2}).shares_storage(x));
}

TEST_CASE("reshape: the order of elements is that of the copy") {
  const Tensor base = counting({4, 6, 2});
  for (const Tensor& x :
       {base.transpose(0, 1),
        base.permute({2, 0, 1}),
        base.slice(1, 1, 6, 2),
        base.slice(0, 1, 3).transpose(1, 2),
        base.select(2, 1)}) {
    const int64_t n = x.numel();
    CHECK(equal(x.reshape({n}), x.clone().reshape({n})));
    CHECK(equal(x.reshape({2, n / 2}), x.clone().reshape({2, n / 2})));
    CHECK(equal(x.reshape({n / 4, 1, 4}), x.clone().reshape({n / 4, 1, 4})));
  }
}

TEST_CASE("reshape: expanded dimensions are repeated, as a view if they can") {
  const Tensor x = counting({2, 1}).expand({2, 6});
  const Tensor cut = x.reshape({2, 2, 3});
  CHECK(cut.shares_storage(x));
  CHECK(equal(cut.reshape({12}), x.clone().reshape({12})));
  CHECK_FALSE(x.reshape({12}).shares_storage(x));
}

TEST_CASE("reshape: numbers and empty tensors") {
  CHECK(tensor(3).reshape({1, 1}).shape() == Shape{1, 1});
  CHECK(tensor({{3}}).reshape({}).shape() == Shape{});
  CHECK(zeros({0, 3}).reshape({3, 0, 5}).shape() == Shape{3, 0, 5});
  CHECK(zeros({0, 3}).reshape({-1, 3}).shape() == Shape{0, 3});
  CHECK(zeros({0}).reshape({-1}).shape() == Shape{0});
}

TEST_CASE("reshape: refuses what does not fit") {
  const Tensor x = zeros({2, 3});
  CHECK_THROWS_WITH_AS(
      x.reshape({4, 2}),
      "reshape: the number of elements must stay, got [4, 2] for a tensor of "
      "shape [2, 3]",
      std::invalid_argument);
  CHECK_THROWS_AS(x.reshape({-1, 4}), std::invalid_argument);
  CHECK_THROWS_AS(x.reshape({-1, -1}), std::invalid_argument);
  CHECK_THROWS_AS(x.reshape({-2, 3}), std::invalid_argument);
  CHECK_THROWS_AS(x.reshape({}), std::invalid_argument);
  CHECK_THROWS_AS(zeros({0}).reshape({-1, 0}), std::invalid_argument);
  CHECK_THROWS_AS(x.reshape({kMost, 2, -1}), std::invalid_argument);
}

TEST_CASE("flatten: makes a run of dimensions one") {
  const Tensor x = counting({2, 3, 4});
  CHECK(x.flatten().shape() == Shape{24});
  CHECK(x.flatten(1).shape() == Shape{2, 12});
  CHECK(x.flatten(0, 1).shape() == Shape{6, 4});
  CHECK(x.flatten(-2, -1).shape() == Shape{2, 12});
  CHECK(tensor(1).flatten().shape() == Shape{1});
  CHECK_THROWS_AS(x.flatten(2, 1), std::invalid_argument);
  CHECK_THROWS_AS(x.flatten(0, 3), std::invalid_argument);
}

TEST_CASE("transpose and permute: element [i, j, k] moves along") {
  const Tensor x = counting({2, 3, 4});
  CHECK(x.transpose(0, -1)[3][1][0].item<int64_t>() == 7);
  const Tensor y = x.permute({2, 0, 1});
  CHECK(y.shape() == Shape{4, 2, 3});
  CHECK(y[3][1][2].item<int64_t>() == 23);
  CHECK(equal(x.permute({-1, 0, 1}), y));
  CHECK_THROWS_AS(x.permute({0, 1}), std::invalid_argument);
  CHECK_THROWS_AS(x.permute({0, 1, 1}), std::invalid_argument);
  CHECK_THROWS_AS(x.transpose(0, 3), std::invalid_argument);
  CHECK_THROWS_AS(tensor(1).transpose(0, 1), std::invalid_argument);
}

TEST_CASE("slice: Python's clamping and negative ends") {
  const Tensor x = arange(10);
  CHECK(equal(x.slice(0, 2, 5), tensor({2, 3, 4})));
  CHECK(equal(x.slice(0, -3, kMost), tensor({7, 8, 9})));
  CHECK(equal(x.slice(0, 0, -8), tensor({0, 1})));
  CHECK(equal(x.slice(0, -100, 2), tensor({0, 1})));
  CHECK(equal(x.slice(0, 8, 100), tensor({8, 9})));
  CHECK(equal(x.slice(0, 1, 9, 3), tensor({1, 4, 7})));
  CHECK(equal(x.slice(0, 0, 10, 4), tensor({0, 4, 8})));
  CHECK(equal(x.slice(0, 3, 10, kMost), tensor({3})));
  for (const Tensor& empty :
       {x.slice(0, 5, 5),
        x.slice(0, 7, 3),
        x.slice(0, 100, 200),
        x.slice(0, kMost, kMost),
        x.slice(0, 0, kLeast)}) {
    CHECK(empty.shape() == Shape{0});
    CHECK(empty.to_vector<int64_t>().empty());
  }
}

TEST_CASE("slice: of a slice, on any dimension") {
  const Tensor x = counting({4, 6});
  const Tensor y = x.slice(1, 1, 6, 2).slice(0, 1, 4, 2).slice(1, 1, 3);
  CHECK(equal(y, tensor({{9, 11}, {21, 23}})));
  CHECK(y.shares_storage(x));
}

TEST_CASE("slice: refuses a step below 1 and a dimension that is not there") {
  CHECK_THROWS_AS(arange(3).slice(0, 0, 3, 0), std::invalid_argument);
  CHECK_THROWS_AS(arange(3).slice(0, 0, 3, -1), std::invalid_argument);
  CHECK_THROWS_AS(arange(3).slice(1, 0, 3), std::invalid_argument);
  CHECK_THROWS_AS(tensor(1).slice(0, 0, 1), std::invalid_argument);
}

TEST_CASE("select: one index, negative ones from the end") {
  const Tensor x = counting({2, 3});
  CHECK(equal(x.select(1, -1), tensor({2, 5})));
  CHECK(equal(x[1], tensor({3, 4, 5})));
  CHECK_THROWS_WITH_AS(
      x.select(1, 3),
      "select: index must be in [-3, 2], got 3 for dimension 1 of shape [2, 3]",
      std::invalid_argument);
  CHECK_THROWS_AS(x.select(1, -4), std::invalid_argument);
  CHECK_THROWS_AS(tensor(1)[0], std::invalid_argument);
  CHECK_THROWS_AS(zeros({0})[0], std::invalid_argument);
}

TEST_CASE("expand: repeats without copying") {
  const Tensor x = tensor({{1}, {2}});
  const Tensor y = x.expand({3, 2, 4});
  CHECK(y.shares_storage(x));
  CHECK(y.has_internal_overlap());
  CHECK(y.strides() == Dims{0, 1, 0});
  CHECK(equal(y[2], tensor({{1, 1, 1, 1}, {2, 2, 2, 2}})));
  CHECK(x.expand({-1, 4}).shape() == Shape{2, 4});
  CHECK(x.expand({2, 0}).shape() == Shape{2, 0});
  CHECK(zeros({0, 1}).expand({0, 3}).shape() == Shape{0, 3});
  CHECK(tensor(1).expand({2, 2}).numel() == 4);
  CHECK(tensor(1).expand({}).dim() == 0);
}

TEST_CASE("expand: only sizes of 1 may grow") {
  const Tensor x = zeros({2, 1});
  CHECK_THROWS_WITH_AS(
      x.expand({3, 1}),
      "expand: sizes of 1 may grow, got [3, 1] for shape [2, 1]",
      std::invalid_argument);
  CHECK_THROWS_AS(x.expand({1, 1}), std::invalid_argument);
  CHECK_THROWS_AS(x.expand({2}), std::invalid_argument);
  CHECK_THROWS_AS(x.expand({-1, 2, 1}), std::invalid_argument);
  CHECK_THROWS_AS(x.expand({0, 1}), std::invalid_argument);
  CHECK_THROWS_AS(x.expand({2, kMost}), std::invalid_argument);
  CHECK_THROWS_AS(x.expand({2, -3}), std::invalid_argument);
}

TEST_CASE("squeeze and unsqueeze: dimensions of size 1") {
  const Tensor x = counting({1, 3, 1, 2});
  CHECK(x.squeeze().shape() == Shape{3, 2});
  CHECK(x.squeeze(2).shape() == Shape{1, 3, 2});
  CHECK(x.squeeze(-4).shape() == Shape{3, 1, 2});
  CHECK(x.squeeze(1).shape() == x.shape());
  CHECK(x.unsqueeze(-1).shape() == Shape{1, 3, 1, 2, 1});
  CHECK(x.unsqueeze(0).shape() == Shape{1, 1, 3, 1, 2});
  CHECK(x.unsqueeze(2).is_contiguous());
  CHECK(equal(x.unsqueeze(1).squeeze(), x.squeeze()));
  CHECK(tensor(5).unsqueeze(0).shape() == Shape{1});
  CHECK_THROWS_AS(x.unsqueeze(5), std::invalid_argument);
  CHECK_THROWS_AS(x.squeeze(4), std::invalid_argument);
}

TEST_CASE("as_strided: windows on the storage, overlapping ones to be read") {
  const Tensor x = counting({12});
  const Tensor part = x.as_strided({2, 2}, {4, 1}, 3);
  CHECK(equal(part, tensor({{3, 4}, {7, 8}})));
  CHECK(part.shares_storage(x));
  CHECK(!part.has_internal_overlap());
  CHECK(!x.reshape({2, 3, 2}).permute({2, 0, 1}).has_internal_overlap());
  Tensor windows = x.as_strided({3, 2}, {1, 1}, 0);
  CHECK(equal(windows, tensor({{0, 1}, {1, 2}, {2, 3}})));
  CHECK(windows.has_internal_overlap());
  CHECK_THROWS_AS(windows.fill_(5), std::invalid_argument);
  CHECK(x.as_strided({0, 9}, {100, 100}, 12).numel() == 0);
}

TEST_CASE("as_strided: no window reaches beyond the storage") {
  const Tensor x = counting({12});
  CHECK(x.as_strided({2}, {11}, 0)[1].item<int64_t>() == 11);
  CHECK_THROWS_WITH_AS(
      x.as_strided({2}, {11}, 1),
      "as_strided: the window must lie within the storage of 12 elements, got "
      "shape [2], strides [11] and offset 1",
      std::invalid_argument);
  constexpr int64_t kFar = int64_t{1} << 62;
  CHECK_THROWS_AS(x.as_strided({4}, {kFar}, 0), std::invalid_argument);
  CHECK_THROWS_AS(x.as_strided({2, 2}, {1}, 0), std::invalid_argument);
  CHECK_THROWS_AS(x.as_strided({2}, {-1}, 1), std::invalid_argument);
  CHECK_THROWS_AS(x.as_strided({2}, {1}, -1), std::invalid_argument);
  CHECK_THROWS_AS(Tensor().as_strided({}, {}, 0), std::invalid_argument);
}

TEST_CASE("views: eight dimensions and no more") {
  const Tensor x = counting({1, 2, 1, 2, 1, 2, 1, 2});
  CHECK(x.clone().dim() == 8);
  CHECK(equal(
      x.permute({7, 6, 5, 4, 3, 2, 1, 0}).reshape({16}),
      counting({2, 2, 2, 2}).permute({3, 2, 1, 0}).reshape({16})));
  CHECK_THROWS_AS(x.unsqueeze(0), std::invalid_argument);
}

TEST_CASE("views: a write is seen through all of them") {
  Tensor x = zeros({2, 3});
  x.transpose(0, 1)[2].fill_(5);
  CHECK(equal(x, tensor({{0., 0., 5.}, {0., 0., 5.}})));
}
