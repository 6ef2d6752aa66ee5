#include "autograd/embedding.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

#include "autograd/elementwise.h"
#include "autograd/gradcheck.h"
#include "autograd/reduction.h"
#include "tensor/creation.h"
#include "tensor/parallel.h"

using namespace heed;

namespace {

using Numbers = std::vector<double>;

Variable leaf(const Shape& shape) {
  return Variable(
      arange(1, shape.numel() + 1).to(kFloat64).reshape(shape).div_(7), true);
}

}  // namespace

TEST_CASE(
    "embedding: 100000 equal ids give an exact gradient, on any threads") {
  const int before = num_threads();
  const Tensor ids = full({100000}, 3, kInt64);
  for (int threads : {1, 2, 4, 8}) {
    set_num_threads(threads);
    const Variable weight(ones({5, 8}), true);
    embedding(weight, ids).backward(ones({100000, 8}));
    const Tensor dweight = weight.grad().value();
    CHECK(dweight[3].to_vector<double>() == Numbers(8, 100000.0));
    CHECK(dweight[4].to_vector<double>() == Numbers(8, 0.0));
  }
  set_num_threads(before);
}

TEST_CASE("embedding: the padding row is looked up but gets no gradient") {
  for (int64_t n : {1, 768, 769, 1000}) {
    const Variable weight(ones({10, 8}), true);
    const Variable y = embedding(weight, zeros({n}, kInt64), 0);
    CHECK(y.value()[n - 1].to_vector<double>() == Numbers(8, 1.0));
    y.backward(ones({n, 8}));
    CHECK(weight.grad().value().to_vector<double>() == Numbers(80, 0.0));
  }
  CHECK_THROWS_WITH_AS(
      embedding(leaf({3, 2}), tensor({0}), 3),
      "embedding: padding_idx must be in [0, 3), got 3",
      std::invalid_argument);
  CHECK_THROWS_AS(
      embedding(leaf({3, 2}), tensor({0}), -1), std::invalid_argument);
}

TEST_CASE("embedding: passes gradcheck, first and second order") {
  const Tensor ids = tensor({{2, 0}, {2, 1}});
  const auto squared = [&](const std::vector<Variable>& in) {
    const Variable y = embedding(in[0], ids);
    return y * y;
  };
  const Variable weight = leaf({4, 3});
  CHECK(gradcheck(squared, {weight}).ok);
  CHECK(gradgradcheck(squared, {weight}).ok);
}

TEST_CASE("embedding: the gradient with padding can be differentiated") {
  const Tensor ids = tensor({2, 0, 2});
  // Linear in the gradient of the output: dweight as a function of dy.
  const auto dweight = [&](const std::vector<Variable>& in) {
    const Variable weight(ones({3, 2}, kFloat64), true);
    return grad(
        {embedding(weight, ids, 0)},
        {weight},
        {.grad_outputs = {in[0] * in[0]}, .create_graph = true})[0];
  };
  const Variable dy = leaf({3, 2});
  CHECK(gradcheck(dweight, {dy}).ok);
  CHECK(gradgradcheck(dweight, {dy}).ok);
}

TEST_CASE("embedding: ids overwritten before backward are noticed") {
  const Variable weight = leaf({3, 2});
  Tensor ids = tensor({0, 1});
  const Variable y = embedding(weight, ids);
  ids.fill_(2);
  CHECK_THROWS_AS(y.backward(ones({2, 2}, kFloat64)), std::logic_error);
  CHECK_THROWS_AS(embedding(weight, tensor({3})), std::invalid_argument);
}

TEST_CASE("embedding: tables that share a weight add up their gradients") {
  const Variable weight = leaf({4, 2});
  const Tensor a = tensor({1, 3, 1});
  const Tensor b = tensor({0, 1});
  const Tensor da = tensor({{1., 2.}, {3., 4.}, {5., 6.}});
  const Tensor db = tensor({{10., 20.}, {30., 40.}});
  (sum(embedding(weight, a, 3) * da.to(kFloat64)) +
   sum(embedding(weight, b) * db.to(kFloat64)))
      .backward();
  CHECK(
      weight.grad().value().to_vector<double>() ==
      Numbers{10, 20, 36, 48, 0, 0, 0, 0});
}
