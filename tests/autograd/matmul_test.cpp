#include "autograd/matmul.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "autograd/elementwise.h"
#include "autograd/grad_mode.h"
#include "autograd/gradcheck.h"
#include "autograd/reduction.h"
#include "tensor/creation.h"
#include "tensor/memory.h"

using namespace heed;

namespace {

using Numbers = std::vector<double>;

/// Numbers without a pattern, float64.
Variable leaf(const Shape& shape, int64_t seed = 1) {
  Tensor x(shape, kFloat64);
  double* v = x.mutable_data<double>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    v[i] = static_cast<double>((i + seed) * 7919 % 1009) / 1009 - 0.5;
  }
  return Variable(x, true);
}

Numbers grad_of(const Variable& x) {
  return x.grad().value().to_vector<double>();
}

Variable product(const std::vector<Variable>& in) {
  return matmul(in[0], in[1]);
}

void check_gradients(const Variable& a, const Variable& b) {
  CAPTURE(a.shape());
  CAPTURE(b.shape());
  const GradcheckReport first = gradcheck(product, {a, b});
  CHECK_MESSAGE(first.ok, first.message);
  const GradcheckReport second = gradgradcheck(product, {a, b});
  CHECK_MESSAGE(second.ok, second.message);
}

}  // namespace

TEST_CASE("matmul: gradients of matrix times vector, and of a dot product") {
  const Variable a(tensor({{1., 2., 3.}, {4., 5., 6.}}), true);
  const Variable b(tensor({1., 2., 3.}), true);
  matmul(a, b).backward(tensor({1., 1.}));
  CHECK(grad_of(a) == Numbers{1, 2, 3, 1, 2, 3});
  CHECK(grad_of(b) == Numbers{5, 7, 9});
  a.zero_grad();
  b.zero_grad();
  matmul(b, a.transpose(0, 1)).backward(tensor({1., 1.}));
  CHECK(grad_of(a) == Numbers{1, 2, 3, 1, 2, 3});
  CHECK(grad_of(b) == Numbers{5, 7, 9});
  b.zero_grad();
  matmul(b, a.value()[1]).backward();
  CHECK(grad_of(b) == Numbers{4, 5, 6});
}

TEST_CASE("matmul: passes gradcheck for every kind of operands") {
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{2, 3}, {3, 4}},
      {{3}, {3}},
      {{3}, {3, 2}},
      {{2, 3}, {3}},
      {{2, 2, 3}, {3, 2}},
      {{2, 2, 3}, {3}},
      {{2, 3}, {2, 3, 2}},
      {{3}, {2, 3, 2}},
      {{2, 1, 2, 3}, {3, 3, 2}},
      {{1, 2, 3}, {2, 3, 1}},
      {{2, 2, 3}, {1, 3, 2}},
      {{2, 2, 2, 3}, {3, 2}},
      {{0, 3}, {3, 2}},
      {{2, 0}, {0, 2}},
      {{0, 2, 3}, {0, 3, 1}},
      {{0, 2, 3}, {3, 1}},
  };
  for (const auto& [a, b] : shapes) {
    check_gradients(leaf(a), leaf(b, 5));
  }
}

TEST_CASE("matmul: passes gradcheck on strided operands") {
  const auto strided = [](const Tensor& x) { return Variable(x, true); };
  const Tensor x = leaf({3, 4, 2}).value();
  const Tensor w = leaf({5, 4}, 9).value();
  check_gradients(strided(x.permute({2, 0, 1})), strided(w.transpose(0, 1)));
  check_gradients(
      strided(x.transpose(1, 2)),
      strided(w.slice(0, 0, 4).slice(1, 1, 3).slice(0, 0, 4)));
  check_gradients(strided(x.slice(1, 0, 4, 2)), strided(w.slice(0, 1, 3)));
}

TEST_CASE("matmul: both arguments may be the same variable") {
  const Variable a = leaf({3, 3});
  const auto square = [](const std::vector<Variable>& in) {
    return matmul(in[0], matmul(in[0], in[0].transpose(0, 1)));
  };
  CHECK(gradcheck(square, {a}).ok);
  CHECK(gradgradcheck(square, {a}).ok);
}

TEST_CASE("matmul: empty sums give zero gradients, not NaN") {
  const Variable a = leaf({0, 3});
  const Variable b = leaf({3, 2});
  matmul(a, b).backward(Tensor({0, 2}, kFloat64));
  CHECK(grad_of(b) == Numbers(6, 0.0));
  CHECK(a.grad().shape() == Shape{0, 3});
  const Variable batched = leaf({0, 2, 3});
  b.zero_grad();
  matmul(batched, b).backward(Tensor({0, 2, 2}, kFloat64));
  CHECK(grad_of(b) == Numbers(6, 0.0));
}

TEST_CASE("matmul: a weight's gradient sums over the batches in one product") {
  // Summing a batch of [64, 64] gradients would take 64 of them.
  const Variable x(full({64, 2, 64}, 0.5));
  const Variable w(full({64, 64}, 0.25), true);
  const Tensor dy = ones({64, 2, 64});
  const Variable y = matmul(x, w);
  const int64_t before = memory_stats().live_bytes;
  reset_peak_memory();
  y.backward(dy);
  CHECK(memory_stats().peak_bytes - before < 4 * 64 * 64 * 4);
  CHECK(grad_of(w) == Numbers(64 * 64, 64.0));
}

TEST_CASE("matmul: an operand overwritten before backward is noticed") {
  for (bool through_view : {false, true}) {
    const Variable w = leaf({2, 2});
    const Variable h = w * Variable(ones({2, 2}, kFloat64));
    const Variable y = matmul(h, w);
    Tensor values = through_view ? h.value().reshape({4}) : h.value();
    values.add_(1);
    CHECK_THROWS_AS(y.backward(ones({2, 2}, kFloat64)), std::logic_error);
    CHECK(!w.grad().defined());
  }
}

TEST_CASE("matmul: errors are those of tensors, and nothing is recorded") {
  CHECK_THROWS_WITH_AS(
      matmul(leaf({8, 10, 3}), leaf({4, 2})),
      "matmul: inner dimensions must agree, got a [8, 10, 3] and b [4, 2]",
      std::invalid_argument);
  const NoGradGuard guard;
  CHECK(!matmul(leaf({2, 2}), leaf({2, 2})).requires_grad());
}

TEST_CASE("matmul: gradients of an operand used twice add up in place") {
  const auto check = [](const Shape& a_shape, const Shape& b_shape) {
    CAPTURE(a_shape);
    CAPTURE(b_shape);
    const Variable a = leaf(a_shape);
    const Variable b = leaf(b_shape, 2);
    const Tensor y = matmul(a.value(), b.value());
    const Variable dy = leaf(y.shape(), 3).detach();
    const Variable dz = leaf(y.shape(), 4).detach();
    matmul(a, b).backward(dy + dz);
    const Numbers da = grad_of(a);
    const Numbers db = grad_of(b);
    a.zero_grad();
    b.zero_grad();
    (sum(matmul(a, b) * dy) + sum(matmul(a, b) * dz)).backward();
    for (size_t i = 0; i < da.size(); ++i) {
      CHECK(grad_of(a)[i] == doctest::Approx(da[i]).epsilon(1e-13));
    }
    for (size_t i = 0; i < db.size(); ++i) {
      CHECK(grad_of(b)[i] == doctest::Approx(db[i]).epsilon(1e-13));
    }
  };
  check({4, 3}, {3, 5});
  check({3}, {3, 5});
  check({4, 3}, {3});
  check({3}, {3});
  check({2, 4, 3}, {3, 5});
  check({2, 4, 3}, {2, 3, 5});
  check({2, 1, 4, 3}, {6, 3, 5});
  check({4, 3}, {2, 3, 5});
  check({1, 4, 3}, {2, 3, 5});
  check({2, 4, 3}, {1, 3, 5});
  check({0, 4, 3}, {3, 5});
}

TEST_CASE("matmul: an operand used twice needs room for one gradient") {
  const Variable a = leaf({4, 64});
  const Variable b = leaf({64, 256});
  const Variable y = sum(matmul(a, b)) + sum(matmul(a, b));
  reset_peak_memory();
  const int64_t before = memory_stats().live_bytes;
  y.backward();
  const int64_t one = 64 * 256 * 8;
  CHECK(memory_stats().peak_bytes - before >= one);
  CHECK(memory_stats().peak_bytes - before < 2 * one);
}
