#include <doctest/doctest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "autograd/elementwise.h"
#include "autograd/grad_mode.h"
#include "autograd/gradcheck.h"
#include "autograd/variable.h"
#include "tensor/creation.h"

using namespace heed;

namespace {

using Numbers = std::vector<double>;

Variable leaf(const Shape& shape) {
  return Variable(
      arange(shape.numel()).to(kFloat64).reshape(shape).div_(7), true);
}

/// The gradient of `f` at a leaf of `shape`, dy being 1, 2, 3, ...
Numbers gradient(
    const Shape& shape, const std::function<Variable(const Variable&)>& f) {
  const Variable x = leaf(shape);
  const Variable y = f(x);
  y.backward(arange(1, y.numel() + 1).to(kFloat64).reshape(y.shape()));
  return x.grad().value().to_vector<double>();
}

}  // namespace

TEST_CASE("views: slice and select put the gradient where they looked") {
  CHECK(gradient({5}, [](const Variable& x) {
          return x.slice(0, 1, 4);
        }) == Numbers{0, 1, 2, 3, 0});
  CHECK(gradient({5}, [](const Variable& x) {
          return x.slice(0, -4, 99, 2);
        }) == Numbers{0, 1, 0, 2, 0});
  CHECK(gradient({5}, [](const Variable& x) {
          return x.slice(-1, -7, 5, 3);
        }) == Numbers{1, 0, 0, 2, 0});
  CHECK(gradient({3}, [](const Variable& x) {
          return x.slice(0, 2, 2);
        }) == Numbers{0, 0, 0});
  CHECK(gradient({2, 3}, [](const Variable& x) {
          return x.select(-1, -1);
        }) == Numbers{0, 0, 1, 0, 0, 2});
  CHECK(gradient({2, 3}, [](const Variable& x) {
          return x[1];
        }) == Numbers{0, 0, 0, 1, 2, 3});
}

TEST_CASE("views: the neighbours' product adds up where slices overlap") {
  const Variable x(arange(0, 32, 0.5), true);
  const Variable y = x.slice(0, 1, 64) * x.slice(0, 0, 63);
  y.backward(ones({63}));
  double sum = 0;
  for (double v : x.grad().value().to_vector<double>()) {
    sum += v;
  }
  // Inner elements count both neighbours: 2 * sum(x) - x[0] - x[63].
  CHECK(sum == 1984.5);
}

TEST_CASE("views: reordering is undone") {
  CHECK(gradient({2, 3}, [](const Variable& x) {
          return x.transpose(0, -1);
        }) == Numbers{1, 3, 5, 2, 4, 6});
  CHECK(gradient({1, 2, 3}, [](const Variable& x) {
          return x.permute({2, 0, -2});
        }) == Numbers{1, 3, 5, 2, 4, 6});
  CHECK(gradient({2, 3}, [](const Variable& x) {
          return x.reshape({3, -1});
        }) == Numbers{1, 2, 3, 4, 5, 6});
  CHECK(gradient({2, 1, 3}, [](const Variable& x) {
          return x.flatten(1).unsqueeze(0).squeeze();
        }) == Numbers{1, 2, 3, 4, 5, 6});
  CHECK(gradient({}, [](const Variable& x) {
          return x.flatten();
        }) == Numbers{1});
}

TEST_CASE("views: what expand repeated is summed") {
  CHECK(gradient({1, 2}, [](const Variable& x) {
          return x.expand({2, 3, 2});
        }) == Numbers{1 + 3 + 5 + 7 + 9 + 11, 2 + 4 + 6 + 8 + 10 + 12});
}

TEST_CASE("views: pass gradcheck, first and second order, strided or not") {
  using Function = std::function<Variable(const Variable&)>;
  const std::vector<std::pair<std::string, Function>> views = {
      {"reshape",
       [](const Variable& x) {
         return x.reshape({4, -1});
       }},
      {"flatten", [](const Variable& x) { return x.flatten(0, 1); }},
      {"transpose", [](const Variable& x) { return x.transpose(0, 2); }},
      {"permute",
       [](const Variable& x) {
         return x.permute({2, 0, 1});
       }},
      {"slice", [](const Variable& x) { return x.slice(1, 0, 3, 2); }},
      {"select", [](const Variable& x) { return x.select(1, 1); }},
      {"expand",
       [](const Variable& x) {
         return x.unsqueeze(1).expand({2, 2, 3, 4});
       }},
      {"squeeze", [](const Variable& x) { return x.slice(0, 0, 1).squeeze(); }},
      {"squeeze of a dim",
       [](const Variable& x) { return x.slice(2, 3, 4).squeeze(2); }},
      {"unsqueeze", [](const Variable& x) { return x.unsqueeze(-1); }},
      {"contiguous",
       [](const Variable& x) { return x.transpose(0, 1).contiguous(); }},
  };
  const Variable dense = leaf({2, 3, 4});
  const Variable strided(
      dense.value().clone().permute({1, 2, 0}).contiguous().permute({2, 0, 1}),
      true);
  for (const auto& named : views) {
    CAPTURE(named.first);
    const auto squared = [&view =
                              named.second](const std::vector<Variable>& in) {
      const Variable y = view(in[0]);
      return y * y;
    };
    for (const Variable& x : {dense, strided}) {
      const GradcheckReport first = gradcheck(squared, {x});
      CHECK_MESSAGE(first.ok, first.message);
      const GradcheckReport second = gradgradcheck(squared, {x});
      CHECK_MESSAGE(second.ok, second.message);
    }
  }
}

TEST_CASE("views: are views of the value, recorded only when it matters") {
  const Variable x = leaf({2, 3});
  CHECK(x.slice(1, 0, 2).value().shares_storage(x.value()));
  CHECK(std::string(x.select(0, 1).op_name()) == "select");
  CHECK(x.contiguous().node() == x.node());
  CHECK(x.to(kFloat64).node() == x.node());
  const NoGradGuard guard;
  CHECK(!x.transpose(0, 1).requires_grad());
  CHECK(Variable(arange(6)).reshape({2, 3}).dtype() == kInt64);
}

TEST_CASE("to: the gradient returns in the input's dtype") {
  const Variable x(tensor({1., 2.}), true);
  const Variable y = x.to(kFloat64);
  CHECK(y.dtype() == kFloat64);
  y.backward(tensor({3., 4.}, kFloat64));
  CHECK(x.grad().dtype() == kFloat32);
  CHECK(x.grad().value().to_vector<double>() == Numbers{3, 4});
  CHECK_THROWS_AS(x.to(kInt64), std::invalid_argument);
}

TEST_CASE("views: empty tensors have empty gradients") {
  CHECK(gradient({0, 3}, [](const Variable& x) {
          return x.transpose(0, 1).slice(0, 1, 2).reshape({0});
        }).empty());
}
