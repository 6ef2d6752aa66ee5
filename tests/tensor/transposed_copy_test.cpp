#include "tensor/transposed_copy.h"

#include <doctest/doctest.h>

#include <vector>

#include "tensor/creation.h"
#include "tensor/parallel.h"

using namespace heed;

namespace {

/// The elements of x in row-major order, one index after the other.
std::vector<double> elements(const Tensor& x) {
  if (x.dim() == 0) {
    return {x.item<double>()};
  }
  std::vector<double> all;
  for (int64_t i = 0; i < x.size(0); ++i) {
    const std::vector<double> part = elements(x[i]);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

bool copies(const Tensor& x) {
  Tensor y(x.shape(), x.dtype());
  const bool done = copy_transposed(y, x);
  return done && elements(y) == elements(x);
}

}  // namespace

TEST_CASE("copy_transposed: every size around a square, every dtype") {
  for (const DType dtype : {kFloat32, kFloat64, kInt64, kBool}) {
    for (const int64_t rows : {2, 15, 16, 17, 40}) {
      for (const int64_t columns : {2, 16, 33}) {
        const Tensor x = arange(rows * columns).to(dtype);
        CHECK(copies(x.reshape({rows, columns}).transpose(0, 1)));
      }
    }
  }
}

TEST_CASE("copy_transposed: more dimensions, steps and repeats") {
  const Tensor x = arange(3 * 4 * 5 * 18).to(kFloat32).reshape({3, 4, 5, 18});
  CHECK(copies(x.transpose(1, 3)));
  CHECK(copies(x.permute({3, 2, 1, 0})));
  CHECK(copies(x.permute({2, 3, 0, 1})));
  CHECK(copies(x.slice(2, 0, 5, 2).transpose(2, 3)));
  CHECK(copies(x.select(1, 2).transpose(0, 2)));
  CHECK(copies(x[0][0].transpose(0, 1).unsqueeze(0).expand({7, 18, 5})));
}

TEST_CASE("copy_transposed: a destination with gaps, and another in between") {
  const Tensor x = arange(20 * 30).to(kFloat32).reshape({20, 30});
  Tensor wide = zeros({30, 40});
  Tensor y = wide.slice(1, 5, 25);
  CHECK(copy_transposed(y, x.transpose(0, 1)));
  CHECK(elements(y) == elements(x.transpose(0, 1)));
  CHECK(elements(wide.slice(1, 0, 5)) == std::vector<double>(150, 0.0));
  CHECK(elements(wide.slice(1, 25, 40)) == std::vector<double>(450, 0.0));
}

TEST_CASE("copy_transposed: leaves other layouts alone") {
  const Tensor x = arange(60).to(kFloat32).reshape({3, 4, 5});
  for (const Tensor& other :
       {x,
        x.transpose(0, 1),
        x.slice(2, 0, 5, 2),
        x[0][0].expand({3, 5}),
        x.slice(2, 0, 1).transpose(1, 2),
        tensor(1.0),
        zeros({4, 0}).transpose(0, 1)}) {
    CAPTURE(other.shape());
    Tensor y(other.shape(), other.dtype());
    CHECK(!copy_transposed(y, other));
  }
}

TEST_CASE("copy_transposed: contiguous() goes through it on 1 and 2 threads") {
  const int before = num_threads();
  const Tensor x = arange(300 * 257).to(kFloat32).reshape({300, 257});
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    const Tensor y = x.transpose(0, 1).contiguous();
    CHECK(y.is_contiguous());
    CHECK(elements(y) == elements(x.transpose(0, 1)));
  }
  set_num_threads(before);
}
