#include "tensor/dropout.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "tensor/creation.h"
#include "tensor/dropout_mask.h"
#include "tensor/parallel.h"

using namespace heed;

namespace {

using Numbers = std::vector<double>;

int64_t dropped(const std::vector<float>& y) {
  int64_t count = 0;
  for (float v : y) {
    count += v == 0;
  }
  return count;
}

}  // namespace

TEST_CASE("dropout: drops a share p and scales what stays by 1 / (1 - p)") {
  Generator generator(7);
  const int64_t n = 100000;
  for (double p : {0.1, 0.5, 0.9}) {
    const std::vector<float> y =
        dropout(ones({n}), p, generator).to_vector<float>();
    // Five standard deviations of a binomial count.
    CHECK(
        std::fabs(static_cast<double>(dropped(y)) - n * p) <
        5 * std::sqrt(n * p * (1 - p)));
    for (float v : y) {
      REQUIRE((v == 0 || v == static_cast<float>(1 / (1 - p))));
    }
  }
}

TEST_CASE("dropout: p = 0 is the identity and draws nothing, p = 1 zeros") {
  Generator generator(7);
  const GeneratorState before = generator.state();
  const Tensor x = arange(5).to(kFloat32);
  CHECK(dropout(x, 0, generator).to_vector<double>() == Numbers{0, 1, 2, 3, 4});
  CHECK(generator.state() == before);
  CHECK(dropout(x, 1, generator).to_vector<double>() == Numbers(5, 0.0));
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(
      dropout(full({9}, inf), 1, generator).to_vector<double>() ==
      Numbers(9, 0.0));
  CHECK(dropout(zeros({0, 3}), 0.5, generator).shape() == Shape{0, 3});
}

TEST_CASE("dropout: equal states give equal masks, later draws others") {
  Generator a(3);
  Generator b(3);
  const Tensor x = ones({40, 25});
  const GeneratorState start = a.state();
  const std::vector<float> first = dropout(x, 0.5, a).to_vector<float>();
  CHECK(dropout(x, 0.5, b).to_vector<float>() == first);
  CHECK(dropout(x, 0.5, start).to_vector<float>() == first);
  CHECK(dropout(x, 0.5, a).to_vector<float>() != first);
}

TEST_CASE_TEMPLATE(
    "dropout: drops the elements that keep_bits says", T, float, double) {
  const GeneratorState start{5, 77};
  for (const int64_t n : {1, 63, 1000, 5000}) {
    const std::vector<T> y =
        dropout(ones({n}, dtype_of<T>), 0.3, start).template to_vector<T>();
    const uint64_t threshold = probability_threshold(0.3);
    std::vector<uint64_t> bits(static_cast<size_t>(n) / 64 + 1);
    keep_bits(start, 0, n / 64 + 1, threshold, bits.data());
    for (int64_t i = 0; i < n; ++i) {
      const bool kept =
          (bits[static_cast<size_t>(i) / 64] >> (i % 64) & 1) != 0;
      REQUIRE(y[i] == (kept ? static_cast<T>(1 / 0.7) : T(0)));
    }
  }
}

TEST_CASE("dropout mask: words of any stretch are those of the whole draw") {
  const GeneratorState start{5, 77};
  const DropoutMask<float> mask(start, 0.3);
  std::vector<uint32_t> all(dropout_room(1000));
  const uint32_t* const words = mask.draw(0, 1000, all.data());
  std::vector<uint32_t> room(dropout_room(150));
  for (const int64_t first : {0, 1, 2, 3, 64, 129, 850}) {
    for (const int64_t n : {0, 1, 5, 128, 150}) {
      const uint32_t* const some = mask.draw(first, n, room.data());
      CHECK(std::equal(some, some + n, words + first));
      CHECK(some - room.data() + n <= static_cast<int64_t>(dropout_room(n)));
    }
  }
}

TEST_CASE("dropout: the mask goes by row-major order, not by strides") {
  const GeneratorState start{5, 0};
  const Tensor x = ones({30, 40});
  CHECK(
      dropout(ones({40, 30}).transpose(0, 1), 0.3, start).to_vector<float>() ==
      dropout(x, 0.3, start).to_vector<float>());
  CHECK(
      dropout(ones({1}).expand({1200}), 0.3, start).to_vector<float>() ==
      dropout(x, 0.3, start).to_vector<float>());
}

TEST_CASE("dropout: the same bits for 1, 2 and 4 threads") {
  const int before = num_threads();
  const Tensor x = ones({123, 457});
  set_num_threads(1);
  const std::vector<float> one =
      dropout(x, 0.2, GeneratorState{9, 4}).to_vector<float>();
  for (int n : {2, 4}) {
    set_num_threads(n);
    CHECK(dropout(x, 0.2, GeneratorState{9, 4}).to_vector<float>() == one);
  }
  set_num_threads(before);
}

TEST_CASE("dropout: a bad p or dtype is refused and nothing is drawn") {
  Generator generator(7);
  const GeneratorState before = generator.state();
  CHECK_THROWS_WITH_AS(
      dropout(ones({2}), -0.1, generator),
      "dropout: p must be in [0, 1], got -0.1",
      std::invalid_argument);
  CHECK_THROWS_AS(dropout(ones({2}), 1.5, generator), std::invalid_argument);
  CHECK_THROWS_AS(dropout(ones({2}), NAN, generator), std::invalid_argument);
  CHECK_THROWS_AS(
      dropout(ones({2}, kInt64), 0.5, generator), std::invalid_argument);
  CHECK_THROWS_AS(dropout(Tensor(), 0.5, generator), std::invalid_argument);
  CHECK(generator.state() == before);
}
