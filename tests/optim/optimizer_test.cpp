#include "optim/optimizer.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "autograd/elementwise.h"
#include "optim/adam.h"
#include "optim/sgd.h"
#include "tensor/parallel.h"

using namespace heed;

namespace {

using Numbers = std::vector<double>;

Tensor filled(const Shape& shape, double value, DType dtype = kFloat64) {
  return Tensor(shape, dtype).fill_(value);
}

Variable parameter(double value, DType dtype = kFloat64) {
  return Variable(filled({}, value, dtype), true);
}

/// Values without a pattern, the same on every machine.
Tensor scattered(const Shape& shape, DType dtype, uint64_t seed) {
  Tensor x(shape, kFloat64);
  double* v = x.mutable_data<double>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    v[i] = static_cast<double>(seed >> 40) / (1 << 24) - 0.5;
  }
  return x.to(dtype);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         std::memcmp(
             visit_floating(
                 "test",
                 a.dtype(),
                 [&]<typename T>(TypeTag<T>) -> const void* {
                   return a.data<T>();
                 }),
             visit_floating(
                 "test",
                 b.dtype(),
                 [&]<typename T>(TypeTag<T>) -> const void* {
                   return b.data<T>();
                 }),
             a.numel() * itemsize(a.dtype())) == 0;
}

using Maker =
    std::function<std::unique_ptr<Optimizer>(const std::vector<Variable>&)>;

struct Kind {
  std::string name;
  Maker make;
};

/// Every kind of optimizer with everything it can remember.
std::vector<Kind> all_optimizers() {
  return {
      {"SGD",
       [](auto& p) { return std::make_unique<SGD>(p, SGDOptions{.lr = 0.1}); }},
      {"SGD nesterov",
       [](auto& p) {
         return std::make_unique<SGD>(
             p, SGDOptions{.lr = 0.1, .momentum = 0.9, .nesterov = true});
       }},
      {"Adam",
       [](auto& p) {
         return std::make_unique<Adam>(
             p, AdamOptions{.lr = 0.1, .weight_decay = 0.1});
       }},
      {"AdamW amsgrad",
       [](auto& p) {
         return std::make_unique<AdamW>(
             p, AdamWOptions{.lr = 0.1, .amsgrad = true});
       }},
  };
}

}  // namespace

TEST_CASE("optimizers: a parameter without a gradient keeps value and state") {
  for (const Kind& kind : all_optimizers()) {
    CAPTURE(kind.name);
    const Variable a = parameter(1);
    const Variable b = parameter(1);
    const auto optimizer = kind.make({a, b});
    a.set_grad(filled({}, 1));
    optimizer->step();
    CHECK(a.item<double>() != 1);
    CHECK(b.item<double>() == 1);
    CHECK(optimizer->state_dict().count("1.step") == 0);
    CHECK(optimizer->steps() == 1);

    // Skipped for two steps, b then moves as a did in its first.
    optimizer->step();
    const double first = [&] {
      const Variable c = parameter(1);
      const auto fresh = kind.make({c});
      c.set_grad(filled({}, 1));
      fresh->step();
      return c.item<double>();
    }();
    a.zero_grad();
    b.set_grad(filled({}, 1));
    const double a_before = a.item<double>();
    optimizer->step();
    CHECK(b.item<double>() == first);
    CHECK(a.item<double>() == a_before);
    CHECK(optimizer->state_dict().at("0.step").item<int64_t>() == 2);
  }
}

TEST_CASE("optimizers: zero_grad forgets all gradients") {
  const Variable a = parameter(1);
  const Variable b = parameter(2);
  SGD optimizer({a, b});
  a.set_grad(filled({}, 1));
  optimizer.zero_grad();
  CHECK(!a.grad().defined());
  CHECK(!b.grad().defined());
}

TEST_CASE("optimizers: parameters that cannot be optimized are refused") {
  const Variable p = parameter(1);
  const Tensor matrix = filled({2, 3}, 1);
  CHECK_THROWS_WITH_AS(
      Adam(std::vector<Variable>{}),
      "Adam: every group must have parameters, got none in group 0",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      SGD(std::vector<ParameterGroup<SGDOptions>>{}),
      "SGD: there must be parameters to optimize, got none",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      Adam({p, Variable()}),
      "Adam: parameter 1 must be defined, got an empty handle",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      AdamW({p * p}),
      "AdamW: parameter 0 must be a leaf, got a result of \"mul\"",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      SGD({Variable(matrix)}),
      "SGD: parameter 0 must require a gradient, got one that does not",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      SGD({Variable(matrix.transpose(0, 1), true)}),
      "SGD: parameter 0 must be dense and row-major, got a view of shape "
      "[3, 2] and strides [1, 3]",
      std::invalid_argument);
}

TEST_CASE("optimizers: a parameter must not be listed twice") {
  const Variable p = parameter(1);
  const Variable q = parameter(1);
  CHECK_THROWS_WITH_AS(
      Adam({p, q, p}),
      "Adam: every parameter must be listed once, got the same memory in "
      "parameters 0 and 2",
      std::invalid_argument);
  // Nor in two groups, nor as another leaf over the same memory.
  CHECK_THROWS_AS(SGD({{{p}, {.lr = 1}}, {{p}, {.lr = 2}}}), std::exception);
  const Tensor rows = filled({4, 2}, 1);
  CHECK_THROWS_AS(
      SGD({Variable(rows, true), Variable(rows[3], true)}),
      std::invalid_argument);
  const Variable top(rows.slice(0, 0, 2), true);
  const Variable bottom(rows.slice(0, 2, 4), true);
  CHECK(SGD({bottom, top}).parameters().size() == 2);
}

TEST_CASE("optimizers: options out of range are named") {
  const std::vector<Variable> p = {parameter(1)};
  CHECK_THROWS_WITH_AS(
      Adam(p, {.lr = -1}),
      "Adam: lr must be finite and >= 0, got -1",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      AdamW(p, {.lr = NAN}),
      "AdamW: lr must be finite and >= 0, got nan",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      Adam(p, {.betas = {0.9, 1}}),
      "Adam: betas must be in [0, 1), got 1",
      std::invalid_argument);
  CHECK_THROWS_AS(AdamW(p, {.betas = {-0.1, 0.9}}), std::invalid_argument);
  CHECK_THROWS_AS(Adam(p, {.eps = -1e-8}), std::invalid_argument);
  CHECK_THROWS_AS(AdamW(p, {.weight_decay = -1}), std::invalid_argument);
  CHECK_THROWS_AS(SGD(p, {.lr_scale = -1}), std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      SGD(p, {.momentum = -0.9}),
      "SGD: momentum must be finite and >= 0, got -0.9",
      std::invalid_argument);
  CHECK_THROWS_AS(SGD(p, {.dampening = INFINITY}), std::invalid_argument);
  CHECK_THROWS_AS(SGD(p, {.weight_decay = NAN}), std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      SGD(p, {.nesterov = true}),
      "SGD: nesterov must have momentum > 0 and dampening 0, got 0 and 0",
      std::invalid_argument);
  CHECK_THROWS_AS(
      SGD(p, {.momentum = 0.9, .dampening = 0.1, .nesterov = true}),
      std::invalid_argument);
  SGD optimizer(p);
  CHECK_THROWS_AS(optimizer.set_lr(-1), std::invalid_argument);
  CHECK_THROWS_AS(optimizer.set_lr(INFINITY), std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      optimizer.set_lr(1, 0.1),
      "SGD: group must be below 1, got 1",
      std::invalid_argument);
  CHECK(optimizer.lr() == 1e-3);
}

TEST_CASE("optimizers: groups have their own options, set_lr keeps ratios") {
  const Variable a = parameter(1);
  const Variable b = parameter(1);
  SGD optimizer(
      {{{a}, {.lr = 0.1, .weight_decay = 0.5}},
       {{b}, {.lr = 0.1, .lr_scale = 0.25}}});
  const auto step = [&] {
    a.set_grad(filled({}, 1));
    b.set_grad(filled({}, 1));
    optimizer.step();
  };
  step();
  CHECK(a.item<double>() == doctest::Approx(1 - 0.1 * 1.5).epsilon(1e-14));
  CHECK(b.item<double>() == doctest::Approx(1 - 0.025).epsilon(1e-14));
  optimizer.set_lr(0.2);
  CHECK(optimizer.lr(0) == 0.2);
  CHECK(optimizer.lr(1) == 0.05);
  step();
  CHECK(b.item<double>() == doctest::Approx(1 - 0.075).epsilon(1e-14));
  optimizer.set_lr(1, 0);
  step();
  CHECK(b.item<double>() == doctest::Approx(1 - 0.075).epsilon(1e-14));
  CHECK(optimizer.lr(0) == 0.2);
  CHECK(optimizer.num_groups() == 2);
}

TEST_CASE("optimizers: a step between forward and backward is caught") {
  for (const Kind& kind : all_optimizers()) {
    CAPTURE(kind.name);
    const Variable w = parameter(2);
    const auto optimizer = kind.make({w});
    const Variable loss = w * w;
    w.set_grad(filled({}, 1));
    optimizer->step();
    CHECK_THROWS_AS(loss.backward(), std::logic_error);
  }
}

TEST_CASE("optimizers: strided, expanded and aliased gradients are right") {
  const Variable w(scattered({3, 2}, kFloat64, 1), true);
  const Numbers before = w.value().to_vector<double>();
  SGD optimizer({w}, {.lr = 0.5});
  const Tensor grad = scattered({2, 3}, kFloat64, 2);
  w.set_grad(grad.transpose(0, 1));
  optimizer.step();
  const Numbers g = grad.transpose(0, 1).to_vector<double>();
  Numbers expected;
  for (size_t i = 0; i < before.size(); ++i) {
    expected.push_back(before[i] - 0.5 * g[i]);
  }
  CHECK(w.value().to_vector<double>() == expected);

  const Variable v(filled({4}, 1), true);
  SGD halving({v}, {.lr = 0.5});
  v.set_grad(filled({1}, 1).expand({4}));
  halving.step();
  CHECK(v.value().to_vector<double>() == Numbers(4, 0.5));
  v.set_grad(v.value());
  halving.step();
  CHECK(v.value().to_vector<double>() == Numbers(4, 0.25));

  // A gradient that overlaps its parameter is the one from before the step.
  const Tensor memory = filled({41}, 1);
  const Variable u(memory.slice(0, 1, 41), true);
  SGD overlapping({u}, {.lr = 0.5});
  u.set_grad(memory.slice(0, 0, 40));
  overlapping.step();
  CHECK(u.value().to_vector<double>() == Numbers(40, 0.5));
}

TEST_CASE("optimizers: a gradient of another shape or dtype cannot be given") {
  const Variable w(filled({3}, 1), true);
  CHECK_THROWS_AS(w.set_grad(filled({1}, 1)), std::invalid_argument);
  CHECK_THROWS_AS(w.set_grad(filled({3}, 1, kFloat32)), std::invalid_argument);
}

TEST_CASE("optimizers: float32, float64 and empty parameters side by side") {
  for (const Kind& kind : all_optimizers()) {
    CAPTURE(kind.name);
    const Variable empty(Tensor({0, 3}, kFloat32), true);
    const Variable a(scattered({40}, kFloat32, 3), true);
    const Variable b(a.value().to(kFloat64), true);
    const auto optimizer = kind.make({empty, a, b});
    for (int i = 0; i < 5; ++i) {
      const Tensor grad = scattered({40}, kFloat32, 10 + i);
      empty.set_grad(Tensor({0, 3}, kFloat32));
      a.set_grad(grad);
      b.set_grad(grad.to(kFloat64));
      optimizer->step();
    }
    const Numbers x = a.value().to_vector<double>();
    const Numbers y = b.value().to_vector<double>();
    for (size_t i = 0; i < x.size(); ++i) {
      CHECK(std::abs(x[i] - y[i]) < 1e-6);
    }
  }
}

TEST_CASE("optimizers: same bits for 1, 2 and 4 threads") {
  const int threads = num_threads();
  for (const Kind& kind : all_optimizers()) {
    CAPTURE(kind.name);
    std::vector<std::vector<Tensor>> results;
    for (const int n : {1, 2, 4}) {
      set_num_threads(n);
      std::vector<Variable> parameters;
      for (const int64_t size : {3, 50000, 1, 20001, 7}) {
        parameters.emplace_back(
            scattered(Shape(Dims(size)), kFloat32, size), true);
      }
      const auto optimizer = kind.make(parameters);
      for (int step = 0; step < 3; ++step) {
        for (const Variable& p : parameters) {
          p.set_grad(scattered(p.shape(), kFloat32, step + 100));
        }
        optimizer->step();
      }
      std::vector<Tensor> values;
      for (const Variable& p : parameters) {
        values.push_back(p.value());
      }
      for (const auto& [key, tensor] : optimizer->state_dict()) {
        if (tensor.dtype() == kFloat32) {
          values.push_back(tensor);
        }
      }
      results.push_back(values);
    }
    for (size_t i = 0; i < results[0].size(); ++i) {
      CHECK(same_bits(results[0][i], results[1][i]));
      CHECK(same_bits(results[0][i], results[2][i]));
    }
  }
  set_num_threads(threads);
}

TEST_CASE("optimizers: a NaN gradient makes its own element NaN, as PyTorch") {
  for (const Kind& kind : all_optimizers()) {
    CAPTURE(kind.name);
    const Variable w(filled({3}, 1), true);
    const auto optimizer = kind.make({w});
    Tensor grad = filled({3}, 1);
    grad[1].fill_(NAN);
    w.set_grad(grad);
    optimizer->step();
    const Numbers x = w.value().to_vector<double>();
    CHECK(std::isfinite(x[0]));
    CHECK(std::isnan(x[1]));
    CHECK(x[2] == x[0]);
  }
}

TEST_CASE("state_dict: a run that was loaded goes on bit for bit") {
  for (const Kind& kind : all_optimizers()) {
    for (const DType dtype : {kFloat32, kFloat64}) {
      CAPTURE(kind.name);
      const Tensor start = scattered({5, 4}, dtype, 5);
      const auto grad = [&](int step) {
        return scattered({5, 4}, dtype, step);
      };
      const auto train = [&](Optimizer& optimizer, int from, int to) {
        for (int step = from; step < to; ++step) {
          optimizer.parameters()[0].set_grad(grad(step));
          optimizer.step();
        }
      };
      const Variable never(filled({2}, 1, dtype), true);
      const Variable whole(start.clone(), true);
      const auto one_run = kind.make({whole, never});
      one_run->set_lr(0.05);
      train(*one_run, 0, 3);
      const StateDict saved = one_run->state_dict();
      const Tensor weights = whole.value().clone();
      train(*one_run, 3, 6);

      const Tensor weights_again = weights.clone();
      const Variable resumed(weights, true);
      const auto second = kind.make({resumed, never});
      second->load_state_dict(saved);
      CHECK(second->steps() == 3);
      CHECK(second->lr() == 0.05);
      train(*second, 3, 6);
      CHECK(same_bits(resumed.value(), whole.value()));

      // The saved state is a copy that neither run has changed.
      const Variable again(weights_again, true);
      const auto third = kind.make({again, never});
      third->load_state_dict(saved);
      train(*third, 3, 6);
      CHECK(same_bits(again.value(), whole.value()));
    }
  }
}

TEST_CASE("state_dict: names are PyTorch's, by number of the parameter") {
  const auto names = [](Optimizer& optimizer) {
    for (const Variable& p : optimizer.parameters()) {
      p.set_grad(filled({}, 1));
    }
    optimizer.step();
    std::vector<std::string> keys;
    for (const auto& [key, tensor] : optimizer.state_dict()) {
      keys.push_back(key);
    }
    return keys;
  };
  using Keys = std::vector<std::string>;
  SGD sgd({parameter(1)}, {.momentum = 0.9});
  CHECK(
      names(sgd) == Keys{"0.momentum_buffer", "0.step", "groups.0.lr", "step"});
  AdamW adamw({{{parameter(1)}, {}}, {{parameter(1)}, {.amsgrad = true}}});
  CHECK(
      names(adamw) == Keys{
                          "0.exp_avg",
                          "0.exp_avg_sq",
                          "0.step",
                          "1.exp_avg",
                          "1.exp_avg_sq",
                          "1.max_exp_avg_sq",
                          "1.step",
                          "groups.0.lr",
                          "groups.1.lr",
                          "step"});
}

TEST_CASE("load_state_dict: reports all that does not fit and loads nothing") {
  const Variable w(filled({2}, 1), true);
  const auto step = [&](Optimizer& optimizer) {
    w.set_grad(filled({2}, 1));
    optimizer.step();
  };
  Adam optimizer({w});
  step(optimizer);
  const StateDict good = optimizer.state_dict();
  step(optimizer);
  StateDict bad = good;
  bad.erase("0.exp_avg");
  bad["0.exp_avg_sq"] = filled({3}, 0, kFloat32);
  bad["0.step"] = Tensor(Shape{}, kInt64).fill_(-1);
  bad["1.exp_avg"] = filled({2}, 0);
  bad["groups.0.lr"] = filled({}, -1);
  bad["step"] = Tensor();
  CHECK_THROWS_WITH_AS(
      optimizer.load_state_dict(bad),
      "Adam: load_state_dict: the state must fit, nothing was loaded; got\n"
      "  step is not defined\n"
      "  groups.0.lr must be finite and >= 0, got -1\n"
      "  0.step must be in [1, 2^53], got -1\n"
      "  0.exp_avg is missing\n"
      "  0.exp_avg_sq must be float64 [2], got float32 [3]\n"
      "  1.exp_avg is not of this optimizer",
      std::invalid_argument);
  CHECK(optimizer.steps() == 2);
  CHECK(optimizer.lr() == 1e-3);
  CHECK(optimizer.state_dict().at("0.step").item<int64_t>() == 2);

  CHECK_THROWS_AS(optimizer.load_state_dict({}), std::invalid_argument);
  SGD other({w}, {.momentum = 0.9});
  CHECK_THROWS_AS(other.load_state_dict(good), std::invalid_argument);
  optimizer.load_state_dict(good);
  CHECK(optimizer.steps() == 1);
}
