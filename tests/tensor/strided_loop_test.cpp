#include "tensor/strided_loop.h"

#include <doctest/doctest.h>

#include <atomic>
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

TEST_CASE("strided_loop: dimensions that can be walked as one are merged") {
  const Tensor x = numbers({4, 5, 6});
  const auto is_one_run = [](const Tensor& a, const Tensor& b) {
    return StridedLoop<2>(a.shape(), {&a, &b}).is_one_run();
  };
  CHECK(is_one_run(x, x));
  CHECK(is_one_run(x, zeros({1}).expand({4, 5, 6})));
  CHECK(is_one_run(x.slice(0, 1, 3), x.slice(0, 2, 4)));
  CHECK(!is_one_run(x, x.transpose(0, 2).contiguous().transpose(0, 2)));
  CHECK(!is_one_run(x.slice(2, 0, 3), x.slice(2, 0, 3)));
}

TEST_CASE("strided_loop: each element is visited once, on any strides") {
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

TEST_CASE("strided_loop: the result may be an operand itself") {
  Tensor x = numbers({6, 4}).transpose(0, 1);
  const Numbers before = x.to_vector<double>();
  zip_into<float, float>(x, x, full({1}, 3), 1, kDifference);
  map_into<float, float>(x, x, 1, [](float v) { return v + 6; });
  CHECK(x.to_vector<double>() == before);
}

TEST_CASE("strided_loop: nothing is called for no elements, once for one") {
  std::atomic<int64_t> calls{0};
  const auto count = [&](const Tensor& x) {
    StridedLoop<1>(x.shape(), {&x})
        .run(1, [&](const int64_t*, int64_t n, const int64_t*) { calls += n; });
    return calls.exchange(0);
  };
  CHECK(count(zeros({3, 0, 2})) == 0);
  CHECK(count(zeros({})) == 1);
  CHECK(count(zeros({3, 1, 2}).transpose(0, 2)) == 6);
}
