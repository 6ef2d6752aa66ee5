#include "autograd/indexing.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

#include "autograd/elementwise.h"
#include "autograd/gradcheck.h"
#include "tensor/creation.h"

using namespace heed;

namespace {

using Numbers = std::vector<double>;

Variable leaf(const Shape& shape) {
  return Variable(
      arange(1, shape.numel() + 1).to(kFloat64).reshape(shape).div_(7), true);
}

Numbers grad_of(const Variable& x) {
  return x.grad().value().to_vector<double>();
}

}  // namespace

TEST_CASE("gather and index_select: repeated indices add up") {
  const Variable x = leaf({3, 2});
  gather(x, 0, tensor({{0, 2}, {0, 1}}))
      .backward(tensor({{1., 2.}, {3., 4.}}, kFloat64));
  CHECK(grad_of(x) == Numbers{4, 0, 0, 4, 0, 2});
  x.zero_grad();
  index_select(x, -1, tensor({1, 1, 0}))
      .backward(arange(9).to(kFloat64).reshape({3, 3}));
  CHECK(grad_of(x) == Numbers{2, 1, 5, 7, 8, 13});
}

TEST_CASE("scatter_add: dx = dy, dsrc = dy where it was added") {
  const Variable x = leaf({3});
  const Variable src = leaf({2});
  scatter_add(x, 0, tensor({2, 2}), src)
      .backward(tensor({1., 2., 3.}, kFloat64));
  CHECK(grad_of(x) == Numbers{1, 2, 3});
  CHECK(grad_of(src) == Numbers{3, 3});
}

TEST_CASE("indexing: passes gradcheck, first and second order") {
  const Tensor index = tensor({{0, 2, 1}, {2, 2, 0}});
  const auto gathered = [&](const std::vector<Variable>& in) {
    const Variable y = gather(in[0], 0, index);
    return y * y;
  };
  const auto selected = [](const std::vector<Variable>& in) {
    const Variable y = index_select(in[0], 1, tensor({2, 0, 2}));
    return y * y;
  };
  const auto scattered = [&](const std::vector<Variable>& in) {
    const Variable y = scatter_add(in[0], 0, index, in[1]);
    return y * y;
  };
  const Variable x = leaf({3, 3});
  const Variable strided(leaf({3, 3}).value().transpose(0, 1), true);
  const Variable src = leaf({2, 3});
  for (const auto& report :
       {gradcheck(gathered, {x}),
        gradgradcheck(gathered, {x}),
        gradcheck(gathered, {strided}),
        gradcheck(selected, {x}),
        gradgradcheck(selected, {strided}),
        gradcheck(scattered, {x, src}),
        gradgradcheck(scattered, {strided, src})}) {
    CHECK_MESSAGE(report.ok, report.message);
  }
}

TEST_CASE("gather: an index overwritten before backward is noticed") {
  const Variable x = leaf({3});
  Tensor index = tensor({0, 1});
  const Variable y = gather(x, 0, index);
  index.fill_(2);
  CHECK_THROWS_AS(y.backward(ones({2}, kFloat64)), std::logic_error);
}
