#include "optim/clipping.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "autograd/elementwise.h"
#include "tensor/parallel.h"
#include "tests/parity/parity.h"

using namespace heed;

namespace {

using Numbers = std::vector<double>;

Tensor filled(const Shape& shape, double value, DType dtype = kFloat32) {
  return Tensor(shape, dtype).fill_(value);
}

/// A parameter that has the gradient `grad`.
Variable with_grad(const Tensor& grad) {
  const Variable p(Tensor(grad.shape(), grad.dtype()).zero_(), true);
  p.set_grad(grad);
  return p;
}

std::vector<Variable> with_equal_grads(int n, double value, DType dtype) {
  std::vector<Variable> parameters;
  for (int i = 0; i < n; ++i) {
    parameters.push_back(with_grad(filled({1}, value, dtype)));
  }
  return parameters;
}

Numbers grad_of(const Variable& p) {
  return p.grad().value().to_vector<double>();
}

}  // namespace

TEST_CASE("clip_grad_norm: PyTorch's norms and gradients") {
  for (const ParityCase& c : Parity::load("clipping", "clip_grad_norm")) {
    for (const DType dtype : {kFloat32, kFloat64}) {
      const std::vector<std::string> names = c.names("grad.");
      std::vector<Variable> parameters;
      for (const std::string& name : names) {
        parameters.push_back(
            with_grad(c.tensor("grad." + name, dtype).clone()));
      }
      const double norm_type =
          std::stod(c.options().at("norm_type").get<std::string>());
      const double norm = clip_grad_norm(
          parameters, c.options().at("max_norm"), {.norm_type = norm_type});
      c.check("norm", Tensor(Shape{}, kFloat64).fill_(norm));
      for (size_t i = 0; i < names.size(); ++i) {
        c.check("clipped.grad." + names[i], parameters[i].grad().value());
      }
    }
  }
}

TEST_CASE("clip_grad_norm: squares beyond float32 do not overflow") {
  const auto large = with_equal_grads(100, 1e20, kFloat32);
  CHECK(clip_grad_norm(large, 1) == doctest::Approx(1e21).epsilon(1e-6));
  for (const Variable& p : large) {
    CHECK(grad_of(p)[0] == doctest::Approx(0.1).epsilon(1e-6));
  }
  const auto more = with_equal_grads(128, 1e19, kFloat32);
  CHECK(clip_grad_norm(more, 2) == doctest::Approx(1.13137e20).epsilon(1e-5));
  for (const Variable& p : more) {
    CHECK(grad_of(p)[0] == doctest::Approx(0.176777).epsilon(1e-5));
  }
}

TEST_CASE(
    "clip_grad_norm: squares beyond float64 neither overflow nor vanish") {
  const auto large = with_equal_grads(100, 1e200, kFloat64);
  CHECK(clip_grad_norm(large, 1) == doctest::Approx(1e201).epsilon(1e-12));
  CHECK(grad_of(large[7])[0] == doctest::Approx(0.1).epsilon(1e-12));
  for (const double tiny : {1e-200, 1e-310}) {
    const auto small = with_equal_grads(100, tiny, kFloat64);
    CHECK(clip_grad_norm(small, 1) / tiny == doctest::Approx(10).epsilon(1e-6));
    CHECK(grad_of(small[0])[0] == tiny);
  }
}

TEST_CASE("clip_grad_norm: non-finite gradients are reported and left alone") {
  for (const double type : {2.0, double(INFINITY)}) {
    for (const double bad :
         {double(INFINITY), -double(INFINITY), double(NAN)}) {
      CAPTURE(bad);
      auto parameters = with_equal_grads(3, 5, kFloat32);
      parameters[1].set_grad(filled({1}, bad));
      const double norm = clip_grad_norm(parameters, 1, {.norm_type = type});
      CHECK(std::isnan(norm) == std::isnan(bad));
      CHECK(!std::isfinite(norm));
      CHECK(grad_of(parameters[0]) == Numbers{5});
      CHECK(grad_of(parameters[2]) == Numbers{5});
      CHECK_THROWS_AS(
          clip_grad_norm(
              parameters, 1, {.norm_type = type, .error_if_nonfinite = true}),
          std::runtime_error);
      CHECK(grad_of(parameters[0]) == Numbers{5});
    }
  }
  const auto both = std::vector<Variable>{
      with_grad(filled({1}, NAN)), with_grad(filled({1}, INFINITY))};
  CHECK(std::isnan(clip_grad_norm(both, 1)));
  CHECK(std::isnan(clip_grad_norm(both, 1, {.norm_type = INFINITY})));
}

TEST_CASE(
    "clip_grad_norm: zero gradients stay zero, no gradients have norm 0") {
  const auto zeros = with_equal_grads(2, 0, kFloat32);
  CHECK(clip_grad_norm(zeros, 1) == 0);
  CHECK(clip_grad_norm(zeros, 0) == 0);
  CHECK(grad_of(zeros[0]) == Numbers{0});
  CHECK(clip_grad_norm({}, 1) == 0);
  CHECK(clip_grad_norm({Variable(filled({2}, 1), true)}, 1) == 0);
  CHECK(clip_grad_norm({with_grad(Tensor({0, 2}, kFloat32))}, 1) == 0);
}

TEST_CASE("clip_grad_norm: an infinite limit only measures") {
  const auto parameters = with_equal_grads(4, 3, kFloat64);
  CHECK(clip_grad_norm(parameters, INFINITY) == 6);
  CHECK(grad_of(parameters[0]) == Numbers{3});
}

TEST_CASE("clip_grad_norm: gradients that share memory are scaled once") {
  const Tensor shared = filled({2}, 3, kFloat64);
  const Variable a = with_grad(shared);
  const Variable b = with_grad(shared);
  const double scale = 1 / (6 + 1e-6);
  CHECK(clip_grad_norm({a, b}, 1) == 6);
  CHECK(grad_of(a) == Numbers(2, 3 * scale));
  CHECK(grad_of(b) == Numbers(2, 3 * scale));
  CHECK(shared.to_vector<double>() == Numbers(2, 3));

  const Variable one(filled({2}, 3, kFloat64));  // one handle for both
  a.set_grad(one);
  b.set_grad(one);
  CHECK(clip_grad_norm({a, b}, 1) == 6);
  CHECK(grad_of(a) == Numbers(2, 3 * scale));
  CHECK(grad_of(b) == Numbers(2, 3 * scale));

  const Variable c = with_grad(filled({2, 2}, 3, kFloat64));
  CHECK(clip_grad_norm({c, c}, 1) == 6);
  CHECK(grad_of(c) == Numbers(4, 3 * scale));
}

TEST_CASE("clip_grad_norm: expanded, strided and recorded gradients") {
  const double scale = 1 / (6 + 1e-6);
  const Variable a = with_grad(filled({1}, 3, kFloat64).expand({4}));
  CHECK(clip_grad_norm({a}, 1) == 6);
  CHECK(grad_of(a) == Numbers(4, 3 * scale));
  Tensor pairs = filled({2, 2}, 3, kFloat64);
  const Variable b = with_grad(pairs.transpose(0, 1));
  CHECK(clip_grad_norm({b}, 1) == 6);
  CHECK(grad_of(b) == Numbers(4, 3 * scale));
  CHECK(pairs.to_vector<double>() == Numbers(4, 3));

  const Variable x(filled({}, 3, kFloat64), true);
  (x * x).backward({.create_graph = true});
  CHECK(clip_grad_norm({x}, 1) == 6);
  CHECK(x.grad().is_leaf());
  x.zero_grad();
  (x * x).backward({.create_graph = true});
  const Variable recorded = x.grad();
  CHECK(clip_grad_norm({x}, 1) == 6);
  CHECK(grad_of(x)[0] == 6 * scale);
  CHECK(recorded.item<double>() == 6);
}

TEST_CASE("clip_grad_norm: same bits for 1, 2 and 4 threads") {
  Tensor grad({100003}, kFloat32);
  float* g = grad.mutable_data<float>();
  for (int64_t i = 0; i < grad.numel(); ++i) {
    g[i] = std::sin(static_cast<float>(i));
  }
  const int threads = num_threads();
  std::vector<double> norms;
  std::vector<std::vector<float>> clipped;
  for (const int n : {1, 2, 4}) {
    set_num_threads(n);
    const Variable p = with_grad(grad.clone());
    norms.push_back(clip_grad_norm({p}, 1));
    clipped.push_back(p.grad().value().to_vector<float>());
  }
  set_num_threads(threads);
  CHECK(norms[0] == norms[1]);
  CHECK(norms[0] == norms[2]);
  CHECK(clipped[0] == clipped[1]);
  CHECK(clipped[0] == clipped[2]);
}

TEST_CASE("clip_grad_value: elements are moved into the range, NaN stays") {
  for (const DType dtype : {kFloat32, kFloat64}) {
    Tensor grad = filled({5}, 0.5, dtype);
    grad[1].fill_(3);
    grad[2].fill_(-INFINITY);
    grad[3].fill_(NAN);
    grad[4].fill_(-1);
    const Variable p = with_grad(grad);
    clip_grad_value({p, Variable(filled({}, 1), true)}, 1);
    const Numbers x = grad_of(p);
    CHECK(x[0] == 0.5);
    CHECK(x[1] == 1);
    CHECK(x[2] == -1);
    CHECK(std::isnan(x[3]));
    CHECK(x[4] == -1);
  }
}

TEST_CASE("clipping: bad limits and empty handles are refused") {
  const auto p = with_equal_grads(1, 1, kFloat32);
  CHECK_THROWS_WITH_AS(
      clip_grad_norm(p, -1),
      "clip_grad_norm: max_norm must be >= 0, got -1",
      std::invalid_argument);
  CHECK_THROWS_AS(clip_grad_norm(p, NAN), std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      clip_grad_norm(p, 1, {.norm_type = 3}),
      "clip_grad_norm: norm_type must be 2 or INFINITY, got 3",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      clip_grad_norm({p[0], Variable()}, 1),
      "clip_grad_norm: parameter 1 must be defined, got an empty handle",
      std::invalid_argument);
  CHECK_THROWS_AS(clip_grad_value(p, -1), std::invalid_argument);
  CHECK_THROWS_AS(clip_grad_value(p, NAN), std::invalid_argument);
}
