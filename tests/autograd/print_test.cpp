#include "autograd/print.h"

#include <doctest/doctest.h>

#include <sstream>

#include "autograd/elementwise.h"
#include "tensor/creation.h"

using namespace heed;

namespace {

template <typename T>
std::string written(const T& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

}  // namespace

TEST_CASE("print: a Variable is its value and where it comes from") {
  const Variable x(tensor({1., 2.}), true);
  CHECK(written(x) == "tensor([1., 2.], requires_grad=true)");
  CHECK(written(x * 2) == "tensor([2., 4.], op=mul)");
  CHECK(written((x * 2).detach()) == "tensor([2., 4.])");
  CHECK(written(Variable(tensor(3.))) == "tensor(3.)");
  CHECK(written(Variable()) == "tensor(undefined)");
  CHECK(
      written(Variable(tensor(1., kFloat64), true)) ==
      "tensor(1., dtype=float64, requires_grad=true)");
}
