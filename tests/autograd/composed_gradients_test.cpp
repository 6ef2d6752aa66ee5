#include "autograd/composed_gradients.h"

#include <doctest/doctest.h>

#include <vector>

#include "autograd/elementwise.h"
#include "tensor/creation.h"

using namespace heed;

TEST_CASE("composed gradients: what one input makes of another is left out") {
  const Variable x(full({}, 3.0, kFloat64), true);
  const Variable y = x * x;
  // d(x y)/dx with y fixed is y = 9, d(x y)/dy is x = 3.
  const std::vector<Variable> gradients = composed_gradients(
      [](const std::vector<Variable>& in) { return in[0] * in[1]; },
      {x, y},
      full({}, 2.0, kFloat64));
  CHECK(gradients[0].item<double>() == 18);
  CHECK(gradients[1].item<double>() == 6);
  // They can be differentiated: d(2 x^2)/dx = 12 through y, 2 through x.
  CHECK(grad({gradients[0]}, {x})[0].item<double>() == 12);
  CHECK(grad({gradients[1]}, {x})[0].item<double>() == 2);
}

TEST_CASE("composed gradients: constants and missing inputs get none") {
  const Variable x(full({2}, 3.0, kFloat64), true);
  const std::vector<Variable> gradients = composed_gradients(
      [](const std::vector<Variable>& in) {
        return in[2].defined() ? in[0] : in[0] * in[1];
      },
      {x, full({2}, 5.0, kFloat64), Variable()},
      ones({2}, kFloat64));
  CHECK(gradients.size() == 3);
  CHECK(gradients[0].value().to_vector<double>() == std::vector<double>{5, 5});
  CHECK_FALSE(gradients[1].defined());
  CHECK_FALSE(gradients[2].defined());
}
