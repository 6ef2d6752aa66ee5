#include "tensor/embedding.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/elementwise.h"
#include "tensor/parallel.h"
#include "tensor/random.h"

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

TEST_CASE("embedding: the rows that the ids name") {
  const Tensor weight = arange(6).to(kFloat32).reshape({3, 2});
  const Tensor y = embedding(weight, tensor({{2, 0}, {1, 2}}));
  CHECK(y.shape() == Shape{2, 2, 2});
  CHECK(y.to_vector<double>() == Numbers{4, 5, 0, 1, 2, 3, 4, 5});
  CHECK(embedding(weight, tensor(1)).to_vector<double>() == Numbers{2, 3});
  const Tensor columns = arange(6).to(kFloat32).reshape({2, 3});
  CHECK(
      embedding(columns.transpose(0, 1), tensor({2, 0})).to_vector<double>() ==
      Numbers{2, 5, 0, 3});
  CHECK(embedding(weight, zeros({0, 4}, kInt64)).shape() == Shape{0, 4, 2});
}

TEST_CASE("embedding_backward: rows of dy added up by id, padding left out") {
  const Tensor dy = tensor({{1., 2.}, {3., 4.}, {5., 6.}});
  const Tensor ids = tensor({2, 0, 2});
  CHECK(
      embedding_backward(dy, ids, 3).to_vector<double>() ==
      Numbers{3, 4, 0, 0, 6, 8});
  CHECK(
      embedding_backward(dy, ids, 3, 2).to_vector<double>() ==
      Numbers{3, 4, 0, 0, 0, 0});
  CHECK(
      embedding_backward(zeros({0, 2}), zeros({0}, kInt64), 2)
          .to_vector<double>() == Numbers(4, 0.0));
  CHECK_THROWS_AS(
      embedding_backward(dy, tensor({0, 1}), 3), std::invalid_argument);
  CHECK_THROWS_AS(embedding_backward(dy, ids, 2), std::invalid_argument);
}

TEST_CASE("embedding_backward: 100000 equal ids, exact for any thread count") {
  const int64_t n = 100000;
  const Tensor dy = ones({n, 1}).expand({n, 70});
  const Tensor ids = full({n}, 3, kInt64);
  for (int threads : {1, 2, 4, 8}) {
    const Threads t(threads);
    const Tensor dweight = embedding_backward(dy, ids, 5);
    CHECK(dweight[3].to_vector<double>() == Numbers(70, 100000.0));
    CHECK(dweight[2].to_vector<double>() == Numbers(70, 0.0));
  }
}

TEST_CASE("embedding_backward: the same bits for 1, 2 and 4 threads") {
  const int64_t n = 4000, d = 130;
  Tensor dy({n, d}, kFloat32);
  Tensor ids({n}, kInt64);
  for (int64_t i = 0; i < n * d; ++i) {
    dy.mutable_data<float>()[i] = 1.0f / static_cast<float>(1 + i % 97);
  }
  for (int64_t i = 0; i < n; ++i) {
    ids.mutable_data<int64_t>()[i] = i * i % 17;
  }
  std::vector<float> one;
  for (int threads : {1, 2, 4}) {
    const Threads t(threads);
    const std::vector<float> all =
        embedding_backward(dy, ids, 17).to_vector<float>();
    if (threads == 1) {
      one = all;
    }
    CHECK(all == one);
  }
}

TEST_CASE("embedding_backward: sums by id, however many rows and columns") {
  Generator generator(8);
  for (const int64_t num_rows : {3, 2000, 40'000}) {
    for (const int64_t d : {1, 40, 300}) {
      CAPTURE(num_rows);
      CAPTURE(d);
      const Tensor ids = randint(0, num_rows, {30, 100}, kInt64, generator);
      const Tensor dy = randn({30, 100, d}, kFloat64, generator);
      const int64_t padding = ids[3][7].item<int64_t>();
      std::vector<double> expected(static_cast<size_t>(num_rows * d));
      const std::vector<int64_t> id = ids.to_vector<int64_t>();
      const std::vector<double> x = dy.to_vector<double>();
      for (size_t k = 0; k < x.size(); ++k) {
        const int64_t row = id[k / static_cast<size_t>(d)];
        if (row != padding) {
          expected[static_cast<size_t>(row * d) + k % static_cast<size_t>(d)] +=
              x[k];
        }
      }
      CHECK(
          embedding_backward(dy, ids, num_rows, padding).to_vector<double>() ==
          expected);
      Tensor sum = full({num_rows, d}, 0.5, kFloat64);
      embedding_backward_into(sum, dy, ids, padding);
      CHECK(allclose(
          sum - 0.5, from_vector(expected, {num_rows, d}), 1e-12, 1e-12));
    }
  }
}

TEST_CASE("embedding: an id out of range in a worker reaches the caller") {
  const Threads t(2);
  const int64_t n = 100000;
  const Tensor weight = ones({10, 4});
  for (int64_t place : {int64_t{0}, n / 2, n - 1}) {
    for (int64_t bad : {10, -1}) {
      Tensor ids = zeros({2, n / 2}, kInt64);
      ids[place / (n / 2)][place % (n / 2)].fill_(bad);
      const std::string message = "embedding: ids must be in [0, 9], got " +
                                  std::to_string(bad) + " at [" +
                                  std::to_string(place / (n / 2)) + ", " +
                                  std::to_string(place % (n / 2)) + "]";
      CHECK_THROWS_WITH_AS(
          embedding(weight, ids), message.c_str(), std::invalid_argument);
    }
  }
  CHECK(embedding(weight, zeros({n}, kInt64))[n - 1][3].item<double>() == 1);
}

TEST_CASE("embedding: what does not fit is named") {
  CHECK_THROWS_WITH_AS(
      embedding(zeros({3}), tensor({0})),
      "embedding: weight must have shape [V, d], got [3]",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      embedding(zeros({3, 2}), tensor({0.5})),
      "embedding: ids must have dtype int64, got float32",
      std::invalid_argument);
  CHECK_THROWS_AS(embedding(Tensor(), tensor({0})), std::invalid_argument);
}
