#include "nn/positional_encoding.h"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tensor/comparison.h"
#include "tensor/creation.h"

using namespace heed;

TEST_CASE("sinusoidal positions: sin at 2i, cos at 2i + 1, odd sizes too") {
  for (const int64_t d_model : {1, 2, 5, 8}) {
    const std::vector<double> pe =
        sinusoidal_positions(50, d_model, kFloat64).to_vector<double>();
    for (int64_t position = 0; position < 50; ++position) {
      for (int64_t j = 0; j < d_model; ++j) {
        const double wavelength = std::pow(
            10000.0,
            2.0 * static_cast<double>(j / 2) / static_cast<double>(d_model));
        const double angle = static_cast<double>(position) / wavelength;
        CHECK(
            pe[static_cast<size_t>(position * d_model + j)] ==
            doctest::Approx(j % 2 == 0 ? std::sin(angle) : std::cos(angle)));
      }
    }
  }
  const Tensor first = sinusoidal_positions(1, 4, kFloat32)[0];
  CHECK(equal(first, tensor({0., 1., 0., 1.})));
}

TEST_CASE("SinusoidalPositionalEncoding: any length and any offset") {
  const SinusoidalPositionalEncoding encoding(6);
  CHECK(encoding.parameters().empty());
  for (const DType dtype : {kFloat32, kFloat64, kFloat32}) {
    const Tensor all = sinusoidal_positions(5000, 6, dtype);
    for (const int64_t offset : {0, 3, 60, 70, 4000}) {
      const Variable x(full({2, 10, 6}, 0.5, dtype), true);
      const Variable y = encoding.forward(x, offset);
      Tensor expected = all.slice(0, offset, offset + 10).clone();
      expected.add_(0.5);
      CHECK(equal(y.value()[0], expected));
      CHECK(equal(y.value()[1], expected));
      y.backward(full({2, 10, 6}, 2.0, dtype));
      CHECK(equal(x.grad().value(), full({2, 10, 6}, 2.0, dtype)));
    }
  }
  CHECK(encoding.forward(zeros({0, 3, 6})).shape() == Shape({0, 3, 6}));
  CHECK(encoding.forward(zeros({3, 0, 6})).shape() == Shape({3, 0, 6}));
}

TEST_CASE("SinusoidalPositionalEncoding: threads may share one") {
  const SinusoidalPositionalEncoding encoding(6);
  const Tensor all = sinusoidal_positions(2000, 6, kFloat32);
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t length = 1; length < 2000; length += 199) {
        const Tensor y = encoding.forward(zeros({1, length, 6})).value();
        wrong[t] += !equal(y[0], all.slice(0, 0, length));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(wrong == std::vector<int>(4, 0));
}

TEST_CASE(
    "LearnedPositionalEncoding: adds a learned vector for each position") {
  const LearnedPositionalEncoding encoding(4, 3);
  const Tensor weight = encoding.parameters()[0].value();
  CHECK(weight.shape() == Shape({4, 3}));
  CHECK(equal(encoding.forward(zeros({2, 4, 3})).value()[1], weight));
  const Variable y = encoding.forward(zeros({2, 2, 3}), 1);
  CHECK(equal(y.value()[0], weight.slice(0, 1, 3)));
  y.backward(ones({2, 2, 3}));
  CHECK(equal(
      encoding.parameters()[0].grad().value(),
      tensor({{0., 0., 0.}, {2., 2., 2.}, {2., 2., 2.}, {0., 0., 0.}})));
}

TEST_CASE("LearnedPositionalEncoding: starts with standard deviation 0.02") {
  Generator generator(1);
  const LearnedPositionalEncoding encoding(100, 100, {.generator = generator});
  double squares = 0;
  for (const double x : encoding.parameters()[0].value().to_vector<double>()) {
    squares += x * x;
  }
  CHECK(std::sqrt(squares / 1e4) == doctest::Approx(0.02).epsilon(0.05));
}

TEST_CASE("LearnedPositionalEncoding: there are max_length positions") {
  const LearnedPositionalEncoding encoding(4, 3);
  CHECK_THROWS_WITH_AS(
      encoding.forward(zeros({1, 3, 3}), 2),
      "LearnedPositionalEncoding: offset + length must be at most max_length = "
      "4, got 2 + 3",
      std::invalid_argument);
  CHECK_THROWS_AS(encoding.forward(zeros({1, 5, 3})), std::invalid_argument);
  CHECK(encoding.forward(zeros({1, 0, 3}), 4).shape() == Shape({1, 0, 3}));
}

TEST_CASE("positional encodings: bad sizes, inputs and offsets are errors") {
  CHECK_THROWS_AS(SinusoidalPositionalEncoding(0), std::invalid_argument);
  CHECK_THROWS_AS(LearnedPositionalEncoding(0, 2), std::invalid_argument);
  CHECK_THROWS_AS(LearnedPositionalEncoding(2, 0), std::invalid_argument);
  const SinusoidalPositionalEncoding sines(4);
  const LearnedPositionalEncoding learned(4, 4);
  for (const PositionalEncoding* encoding :
       {static_cast<const PositionalEncoding*>(&sines),
        static_cast<const PositionalEncoding*>(&learned)}) {
    CHECK_THROWS_AS(encoding->forward(ones({2, 4})), std::invalid_argument);
    CHECK_THROWS_AS(encoding->forward(ones({1, 2, 3})), std::invalid_argument);
    CHECK_THROWS_AS(
        encoding->forward(ones({1, 2, 4}), -1), std::invalid_argument);
  }
  CHECK_THROWS_AS(
      learned.forward(ones({1, 2, 4}, kFloat64)), std::invalid_argument);
}

TEST_CASE("SinusoidalPositionalEncoding: x must be floating") {
  const SinusoidalPositionalEncoding positions(4);
  CHECK_THROWS_AS(
      positions.forward(Variable(zeros({1, 2, 4}, kInt64))),
      std::invalid_argument);
}
