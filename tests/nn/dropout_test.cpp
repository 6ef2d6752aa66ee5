#include "nn/dropout.h"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include "nn/sequential.h"
#include "tensor/comparison.h"
#include "tensor/creation.h"

using namespace heed;

TEST_CASE("Dropout: drops a share p and scales the others, gradients alike") {
  Generator generator(1);
  const Dropout dropout({.p = 0.25, .generator = generator});
  const Variable x(full({100, 100}, 3.0), true);
  const Variable y = dropout(x);
  y.backward(full({100, 100}, 3.0));
  int64_t dropped = 0;
  for (const float value : y.value().to_vector<float>()) {
    CHECK((value == 0 || value == 4));
    dropped += value == 0;
  }
  CHECK(std::abs(static_cast<double>(dropped) / 1e4 - 0.25) < 0.02);
  CHECK(equal(x.grad().value(), y.value()));
}

TEST_CASE("Dropout: in evaluation the identity, with gradient 1") {
  Dropout dropout({.p = 0.5});
  dropout.eval();
  const Variable x(tensor({1.0, -2.0, 3.0}), true);
  const Variable y = dropout(x);
  CHECK(equal(y.value(), x.value()));
  y.backward(tensor({0.5, 1.5, -1.0}));
  CHECK(equal(x.grad().value(), tensor({0.5, 1.5, -1.0})));
}

TEST_CASE("Dropout: p = 1 gives zeros and zero gradient, p = 0 the identity") {
  const Variable x(tensor({1.0, -2.0, 3.0}), true);
  const Variable all = Dropout({.p = 1})(x);
  CHECK(equal(all.value(), zeros({3})));
  all.backward(ones({3}));
  CHECK(equal(x.grad().value(), zeros({3})));
  CHECK(equal(Dropout({.p = 0})(x).value(), x.value()));
}

TEST_CASE("Dropout: the same seed drops the same, the next draw others") {
  Generator generator(7);
  const Dropout dropout({.p = 0.5, .generator = generator});
  const Tensor x = ones({1000});
  const Tensor first = dropout(x).value();
  const Tensor second = dropout(x).value();
  generator.set_seed(7);
  CHECK(equal(dropout(x).value(), first));
  CHECK_FALSE(equal(first, second));
}

TEST_CASE("Dropout: eval of a model reaches those within") {
  Sequential net;
  net.add<Sequential>().add<Dropout>(DropoutOptions{.p = 0.5});
  const Tensor x = ones({1000});
  CHECK_FALSE(equal(net(x).value(), x));
  net.eval();
  CHECK(equal(net(x).value(), x));
}

TEST_CASE("Dropout: p must be a probability") {
  CHECK_THROWS_WITH_AS(
      Dropout({.p = -0.1}),
      "Dropout: p must be in [0, 1], got -0.1",
      std::invalid_argument);
  CHECK_THROWS_AS(Dropout({.p = 1.5}), std::invalid_argument);
  CHECK_THROWS_AS(Dropout({.p = NAN}), std::invalid_argument);
}
