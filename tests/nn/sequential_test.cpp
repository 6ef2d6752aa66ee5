#include "nn/sequential.h"

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>

#include "nn/activation.h"
#include "nn/linear.h"
#include "tensor/comparison.h"
#include "tensor/creation.h"

using namespace heed;

TEST_CASE("Sequential: layers one behind the other") {
  Sequential net;
  Linear& first = net.add<Linear>(2, 3);
  Activation& tanh = net.add<Activation>(ActivationKind::tanh);
  Linear& second = net.add<Linear>(3, 1);
  const Tensor x = tensor({{0.5, -1.0}, {2.0, 0.25}});
  CHECK(net.size() == 3);
  CHECK(equal(net(x).value(), second(tanh(first(x))).value()));
  CHECK(net.named_parameters()[2].first == "2.weight");
}

TEST_CASE("Sequential: without layers gives its input") {
  const Sequential net;
  const Variable x(ones({2}), true);
  CHECK(net(x).node() == x.node());
}

TEST_CASE("Sequential: takes layers over, but no null pointer") {
  Sequential net;
  net.push_back(std::make_unique<Linear>(2, 3));
  CHECK(net(ones({1, 2})).shape() == Shape({1, 3}));
  CHECK_THROWS_AS(net.push_back(nullptr), std::invalid_argument);
}
