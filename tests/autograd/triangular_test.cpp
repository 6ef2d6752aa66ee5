#include "autograd/triangular.h"

#include <doctest/doctest.h>

#include <vector>

#include "autograd/elementwise.h"
#include "autograd/gradcheck.h"
#include "tensor/creation.h"

using namespace heed;

TEST_CASE("tril and triu: the gradient is cut as the value is") {
  using Numbers = std::vector<double>;
  const Variable x(ones({2, 3}), true);
  tril(x, 1).backward(arange(1, 7).to(kFloat32).reshape({2, 3}));
  CHECK(x.grad().value().to_vector<double>() == Numbers{1, 2, 0, 4, 5, 6});
  x.zero_grad();
  triu(x, 1).backward(arange(1, 7).to(kFloat32).reshape({2, 3}));
  CHECK(x.grad().value().to_vector<double>() == Numbers{0, 2, 3, 0, 0, 6});
}

TEST_CASE("tril and triu: pass gradcheck, first and second order") {
  const auto cut = [](const std::vector<Variable>& in) {
    const Variable low = tril(in[0], -1);
    return low * in[0] + triu(in[0] * in[0]);
  };
  const Variable x(
      arange(12).to(kFloat64).reshape({2, 3, 2}).transpose(1, 2).div_(7), true);
  const GradcheckReport first = gradcheck(cut, {x});
  CHECK_MESSAGE(first.ok, first.message);
  const GradcheckReport second = gradgradcheck(cut, {x});
  CHECK_MESSAGE(second.ok, second.message);
}
