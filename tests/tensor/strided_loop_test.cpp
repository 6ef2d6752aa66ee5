#include "tensor/strided_loop.h"

#include <doctest/doctest.h>

#include <atomic>

#include "tensor/creation.h"

using namespace heed;

namespace {

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
