#include "tensor/elementwise_loop.h"

#include <doctest/doctest.h>

#include <vector>

#include "tensor/creation.h"

using namespace heed;

namespace {

using Numbers = std::vector<double>;

constexpr auto kDifference = [](float a, float b) { return a - 2 * b; };

Tensor numbers(const Shape& shape) {
  return arange(shape.numel()).to(kFloat32).reshape(shape);
}

}  // namespace

TEST_CASE("elementwise_loop: each element is visited once, on any strides") {
  // Longer than a chunk and than a thread's piece, in one of the layouts.
  for (const Shape& shape :
       {Shape{3, 5, 7}, Shape{2, 700, 3}, Shape{40, 30, 50}}) {
    const Tensor a = numbers({shape[2], shape[1], shape[0]}).transpose(0, 2);
    const Tensor b = numbers({shape[1], 1});
    Tensor wide({shape[0], shape[1], 2 * shape[2]}, kFloat32);
    wide.fill_(-1);
    Tensor out = wide.slice(2, 0, 2 * shape[2], 2);
    zip_into<float, float>(out, a, b, 1, kDifference);
    for (int64_t i = 0; i < shape[0]; ++i) {
      for (int64_t j = 0; j < shape[1]; ++j) {
        const Numbers got = wide[i][j].to_vector<double>();
        for (int64_t k = 0; k < shape[2]; ++k) {
          const double expected =
              static_cast<double>((k * shape[1] + j) * shape[0] + i - 2 * j);
          REQUIRE(got[static_cast<size_t>(2 * k)] == expected);
          REQUIRE(got[static_cast<size_t>(2 * k + 1)] == -1);
        }
      }
    }
  }
}

TEST_CASE("elementwise_loop: the result may be an operand itself") {
  Tensor x = numbers({6, 4}).transpose(0, 1);
  const Numbers before = x.to_vector<double>();
  zip_into<float, float>(x, x, full({1}, 3), 1, kDifference);
  map_into<float, float>(x, x, 1, [](float v) { return v + 6; });
  CHECK(x.to_vector<double>() == before);
}
