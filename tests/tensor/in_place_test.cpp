#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/elementwise.h"
#include "tensor/tensor.h"

using namespace heed;

TEST_CASE("in place: writing into an expanded view is refused") {
  const Tensor a = ones({1, 1});
  Tensor b = a.expand({4, 5});
  CHECK_THROWS_WITH_AS(
      b.add_(1),
      "add_: the destination's elements must not share memory, got an expanded "
      "view of shape [4, 5] and strides [0, 0]; write to a clone()",
      std::invalid_argument);
  const Tensor other = ones({4, 5});
  CHECK_THROWS_AS(b.add_(other), std::invalid_argument);
  CHECK_THROWS_AS(b.sub_(1), std::invalid_argument);
  CHECK_THROWS_AS(b.sub_(other), std::invalid_argument);
  CHECK_THROWS_AS(b.mul_(2), std::invalid_argument);
  CHECK_THROWS_AS(b.mul_(other), std::invalid_argument);
  CHECK_THROWS_AS(b.div_(2), std::invalid_argument);
  CHECK_THROWS_AS(b.div_(other), std::invalid_argument);
  CHECK_THROWS_AS(b.fill_(3), std::invalid_argument);
  CHECK_THROWS_AS(b.zero_(), std::invalid_argument);
  CHECK_THROWS_AS(b.copy_(other), std::invalid_argument);
  CHECK_THROWS_AS(b.clamp_(0, 1), std::invalid_argument);
  CHECK_THROWS_AS(
      b.masked_fill_(ones({4, 5}, kBool), 0), std::invalid_argument);
  CHECK_THROWS_AS(b.transpose(0, 1).add_(1), std::invalid_argument);
  CHECK_THROWS_AS(b.slice(0, 0, 2).add_(1), std::invalid_argument);
  CHECK(a.item<float>() == 1);
  Tensor copy = b.clone();
  CHECK(equal(copy.add_(1), full({4, 5}, 2)));
}

TEST_CASE("in place: an expanded view of one element each may be written to") {
  Tensor a = ones({2, 1});
  a.expand({2, 1}).add_(1);
  CHECK(equal(a, full({2, 1}, 2)));
  a.select(0, 0).expand({1, 1}).fill_(7);
  CHECK(equal(a, tensor({{7.}, {2.}})));
}

TEST_CASE("in place: arithmetic with tensors that broadcast and with numbers") {
  Tensor x = tensor({{1., 2.}, {3., 4.}});
  const Tensor row = tensor({10., 20.});
  CHECK(equal(x.add_(row), tensor({{11., 22.}, {13., 24.}})));
  CHECK(equal(x.sub_(row), tensor({{1., 2.}, {3., 4.}})));
  CHECK(equal(x.add_(row, 0.5), tensor({{6., 12.}, {8., 14.}})));
  CHECK(equal(x.mul_(tensor({{2.}, {1.}})), tensor({{12., 24.}, {8., 14.}})));
  CHECK(equal(x.div_(2), tensor({{6., 12.}, {4., 7.}})));
  CHECK(equal(x.div_(tensor(2.)), tensor({{3., 6.}, {2., 3.5}})));
  CHECK(equal(x.sub_(1).mul_(2), tensor({{4., 10.}, {2., 5.}})));
  CHECK(equal(x.clamp_(3, 5), tensor({{4., 5.}, {3., 5.}})));
  CHECK(equal(x.zero_(), zeros({2, 2})));
}

TEST_CASE("in place: strided destinations") {
  Tensor x = zeros({3, 4});
  x.slice(1, 0, 4, 2).add_(1);
  x.transpose(0, 1).slice(0, 1, 2).copy_(tensor({1., 2., 3.}));
  CHECK(
      equal(x, tensor({{1., 1., 1., 0.}, {1., 2., 1., 0.}, {1., 3., 1., 0.}})));
}

TEST_CASE(
    "in place: overlapping source and destination give the right answer") {
  Tensor x = arange(6);
  x.slice(0, 1, 6).copy_(x.slice(0, 0, 5));
  CHECK(equal(x, tensor({0, 0, 1, 2, 3, 4})));
  x = arange(6);
  x.slice(0, 0, 5).copy_(x.slice(0, 1, 6));
  CHECK(equal(x, tensor({1, 2, 3, 4, 5, 5})));
  x = arange(6);
  x.slice(0, 1, 6).add_(x.slice(0, 0, 5));
  CHECK(equal(x, tensor({0, 1, 3, 5, 7, 9})));
  x = arange(4).reshape({2, 2});
  x.copy_(x.transpose(0, 1));
  CHECK(equal(x, tensor({{0, 2}, {1, 3}})));
  x.add_(x[0]);  // the row changes while it is added
  CHECK(equal(x, tensor({{0, 4}, {1, 5}})));
  x.add_(x);
  CHECK(equal(x, tensor({{0, 8}, {2, 10}})));
  x.mul_(x.select(0, 0).select(0, 1));
  CHECK(equal(x, tensor({{0, 64}, {16, 80}})));
  Tensor mask = tensor({true, false, true, false});
  mask.slice(0, 1, 4).masked_fill_(mask.slice(0, 0, 3), true);
  CHECK(equal(mask, tensor({true, true, true, true})));
}

TEST_CASE("in place: large tensors, cut among threads") {
  const int64_t n = 300000;
  Tensor x = arange(n);
  x.slice(0, 1, n).copy_(x.slice(0, 0, n - 1));
  CHECK(equal(x.slice(0, 1, n), arange(n - 1)));
  Tensor y = ones({1000, 301});
  y.transpose(0, 1).add_(arange(1000, kFloat32));
  CHECK(
      equal(y, (arange(1000, kFloat32) + 1).unsqueeze(1).expand({1000, 301})));
}

TEST_CASE("in place: dtypes must agree, bools are no numbers") {
  Tensor x = ones({2});
  CHECK_THROWS_WITH_AS(
      x.add_(ones({2}, kFloat64)),
      "add_: both must have one dtype, got float32 [2] and float64 [2]; "
      "convert one with to()",
      std::invalid_argument);
  CHECK_THROWS_AS(x.copy_(ones({2}, kInt64)), std::invalid_argument);
  Tensor n = ones({2}, kInt64);
  CHECK_THROWS_AS(n.add_(0.5), std::invalid_argument);
  CHECK_THROWS_AS(n.fill_(0.5), std::invalid_argument);
  CHECK_THROWS_AS(n.div_(2), std::invalid_argument);
  CHECK_THROWS_AS(n.div_(n), std::invalid_argument);
  Tensor b = ones({2}, kBool);
  CHECK_THROWS_AS(b.add_(b), std::invalid_argument);
  CHECK_THROWS_AS(b.mul_(1), std::invalid_argument);
  CHECK_THROWS_AS(x.masked_fill_(x, 1), std::invalid_argument);
  CHECK(equal(n.add_(2).mul_(3).sub_(1), tensor({8, 8})));
}

TEST_CASE("in place: other must broadcast to the destination") {
  Tensor x = ones({2, 1});
  CHECK_THROWS_WITH_AS(
      x.add_(ones({2, 3})),
      "add_: other must broadcast to the destination, got [2, 3] for [2, 1]",
      std::invalid_argument);
  CHECK_THROWS_AS(x.copy_(ones({3})), std::invalid_argument);
  CHECK_THROWS_AS(
      x.masked_fill_(ones({1, 2, 1}, kBool), 0), std::invalid_argument);
  CHECK_THROWS_AS(x.add_(Tensor()), std::invalid_argument);
}

TEST_CASE("in place: empty tensors") {
  Tensor x = zeros({0, 3});
  CHECK(x.add_(1).mul_(ones({3})).fill_(2).copy_(ones({1})).numel() == 0);
}

TEST_CASE("in place: integers wrap around") {
  const int64_t most = std::numeric_limits<int64_t>::max();
  Tensor x = full({1}, most, kInt64);
  CHECK(x.add_(1).item<int64_t>() == std::numeric_limits<int64_t>::min());
  CHECK(x.sub_(1).item<int64_t>() == most);
  CHECK(x.mul_(2).item<int64_t>() == -2);
}

TEST_CASE("clamp_: NaN stays, the ends must be in order") {
  Tensor x = tensor({-2., 0.5, std::nan(""), 3.});
  x.clamp_(-1, 1);
  CHECK(allclose(x, tensor({-1., 0.5, std::nan(""), 1.}), 0, 0, true));
  CHECK_THROWS_AS(x.clamp_(1, 0), std::invalid_argument);
  CHECK_THROWS_AS(x.clamp_(std::nan(""), 0), std::invalid_argument);
}

TEST_CASE("masked_fill_: the mask broadcasts") {
  Tensor x = zeros({2, 3});
  x.masked_fill_(tensor({true, false, true}), 4);
  CHECK(equal(x, tensor({{4., 0., 4.}, {4., 0., 4.}})));
  x.masked_fill_(tensor({{true}, {false}}), -1);
  CHECK(equal(x, tensor({{-1., -1., -1.}, {4., 0., 4.}})));
}
