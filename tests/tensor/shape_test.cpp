#include "tensor/shape.h"

#include <doctest/doctest.h>

#include <limits>
#include <sstream>
#include <stdexcept>

using namespace heed;

namespace {

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

std::string written(const Dims& dims) {
  std::ostringstream out;
  out << dims;
  return out.str();
}

}  // namespace

TEST_CASE("Shape: counts its elements, a number having one") {
  CHECK(Shape({}).numel() == 1);
  CHECK(Shape({2, 3, 4}).numel() == 24);
  CHECK(Shape({5, 0, 3}).numel() == 0);
  CHECK(written(Shape({2, 3})) == "[2, 3]");
  CHECK(written(Shape({})) == "[]");
}

TEST_CASE("Shape: negative sizes are refused") {
  CHECK_THROWS_WITH_AS(
      Shape({2, -1}),
      "Shape: sizes must not be negative, got [2, -1]",
      std::invalid_argument);
}

TEST_CASE("Shape: a product that overflows is refused, beside a 0 too") {
  CHECK_THROWS_AS(Shape({kHuge, 2}), std::invalid_argument);
  CHECK_THROWS_AS(Shape({kHuge, 2, 0}), std::invalid_argument);
  CHECK_THROWS_AS(
      Shape({int64_t{1} << 32, int64_t{1} << 31}), std::invalid_argument);
  CHECK(Shape({kHuge, 0}).numel() == 0);
  CHECK(Shape({kHuge}).numel() == kHuge);
}

TEST_CASE("Dims: eight entries and no more") {
  Dims dims{1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(dims.size() == kMaxRank);
  CHECK_THROWS_WITH_AS(
      dims.push_back(9),
      "Shape: at most 8 dimensions, got 9",
      std::invalid_argument);
  CHECK_THROWS_AS((Dims{1, 2, 3, 4, 5, 6, 7, 8, 9}), std::invalid_argument);
  CHECK(dims.size() == kMaxRank);
}

TEST_CASE("Dims: insert and erase keep the order") {
  Dims dims{1, 2, 4};
  dims.insert(2, 3);
  CHECK(dims == Dims{1, 2, 3, 4});
  dims.insert(4, 5);
  dims.insert(0, 0);
  CHECK(dims == Dims{0, 1, 2, 3, 4, 5});
  dims.erase(0);
  dims.erase(4);
  CHECK(dims == Dims{1, 2, 3, 4});
  CHECK(dims.contains(3));
  CHECK_FALSE(dims.contains(5));
}

TEST_CASE("contiguous_strides: row-major, a size of 0 counting as 1") {
  CHECK(contiguous_strides({2, 3, 4}) == Dims{12, 4, 1});
  CHECK(contiguous_strides({2, 0, 4}) == Dims{4, 4, 1});
  CHECK(contiguous_strides({}) == Dims{});
}

TEST_CASE("normalize_dim: negative ones count from the end") {
  CHECK(normalize_dim("f", -1, 3) == 2);
  CHECK(normalize_dim("f", -3, 3) == 0);
  CHECK(normalize_dim("f", 2, 3) == 2);
  CHECK_THROWS_WITH_AS(
      normalize_dim("f", 3, 3),
      "f: dim must be in [-3, 2], got 3",
      std::invalid_argument);
  CHECK_THROWS_AS(normalize_dim("f", -4, 3), std::invalid_argument);
  CHECK_THROWS_AS(normalize_dim("f", 0, 0), std::invalid_argument);
}

TEST_CASE("normalize_dims: sorted, each named once") {
  CHECK(normalize_dims("f", {-1, 0}, 3) == Dims{0, 2});
  CHECK(normalize_dims("f", {}, 3) == Dims{});
  CHECK_THROWS_WITH_AS(
      normalize_dims("f", {1, -2}, 3),
      "f: a dimension must be named once, got [1, -2]",
      std::invalid_argument);
}

TEST_CASE("broadcast_shapes: NumPy's rules") {
  CHECK(broadcast_shapes("f", {2, 3}, {3}) == Shape{2, 3});
  CHECK(broadcast_shapes("f", {4, 1}, {1, 5}) == Shape{4, 5});
  CHECK(broadcast_shapes("f", {}, {2, 3}) == Shape{2, 3});
  CHECK(broadcast_shapes("f", {1}, {2, 1, 3}) == Shape{2, 1, 3});
  CHECK(broadcast_shapes("f", {0, 3}, {1, 3}) == Shape{0, 3});
  CHECK(broadcast_shapes("f", {1}, {0}) == Shape{0});
  CHECK_THROWS_WITH_AS(
      broadcast_shapes("add", {2, 3}, {2}),
      "add: shapes must broadcast (equal sizes or 1, aligned at the end), "
      "got [2, 3] and [2]",
      std::invalid_argument);
  CHECK_THROWS_AS(broadcast_shapes("f", {0}, {2}), std::invalid_argument);
}

TEST_CASE("broadcast_shapes: a result that overflows is refused") {
  const int64_t big = int64_t{1} << 40;
  CHECK_THROWS_AS(
      broadcast_shapes("f", {big, 1}, {1, big}), std::invalid_argument);
}

TEST_CASE("is_broadcastable_to: in one direction only") {
  CHECK(is_broadcastable_to({3}, {2, 3}));
  CHECK(is_broadcastable_to({1, 3}, {0, 3}));
  CHECK_FALSE(is_broadcastable_to({2, 3}, {3}));
  CHECK_FALSE(is_broadcastable_to({3}, {1}));
}

TEST_CASE("reduced_shape: dims removed, or kept as 1") {
  CHECK(reduced_shape({2, 3, 4}, {0, 2}, false) == Shape{3});
  CHECK(reduced_shape({2, 3, 4}, {0, 2}, true) == Shape{1, 3, 1});
  CHECK(reduced_shape({2, 3}, {}, false) == Shape{2, 3});
}
