#include <doctest/doctest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "autograd/activation.h"
#include "autograd/elementwise.h"
#include "autograd/grad_mode.h"
#include "autograd/node.h"
#include "autograd/record.h"
#include "autograd/reduction.h"
#include "tensor/creation.h"
#include "tensor/memory.h"

using namespace heed;

namespace {

Variable leaf(const Tensor& value) { return Variable(value, true); }

Variable leaf(double value) { return leaf(full({}, value, kFloat64)); }

double gradient(const Variable& x) { return x.grad().item<double>(); }

// Runs f in a thread whose stack has `bytes` bytes.
void run_in_stack(size_t bytes, const std::function<void()>& f) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, bytes) == 0);
  pthread_t thread;
  const auto start = [](void* g) -> void* {
    (*static_cast<const std::function<void()>*>(g))();
    return nullptr;
  };
  REQUIRE(
      pthread_create(
          &thread,
          &attributes,
          start,
          const_cast<std::function<void()>*>(&f)) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

Variable chain(const Variable& x, int64_t length) {
  Variable y = x;
  for (int64_t i = 0; i < length; ++i) {
    y = y + 0;
  }
  return y;
}

}  // namespace

TEST_CASE("backward: a value used twice gets both gradients, once each") {
  const Variable a = leaf(1);
  const Variable b = a + a;
  (b + b).backward();
  CHECK(gradient(a) == 4);

  const Variable p = leaf(2);
  const Variable q = leaf(3);
  const Variable c = p + q;
  const Variable d = p * q;
  (c + d + c * d).backward();  // e = c + d, f = c d
  CHECK(gradient(p) == 25);
  CHECK(gradient(q) == 19);

  const Variable x = leaf(5);
  (x * x).backward();
  CHECK(gradient(x) == 10);
}

TEST_CASE("backward: gradients add up until they are zeroed") {
  const Variable x = leaf(3);
  (x * 2).backward();
  (x * 5).backward();
  CHECK(gradient(x) == 7);
  x.zero_grad();
  CHECK_FALSE(x.grad().defined());
  (x * 5).backward();
  CHECK(gradient(x) == 5);
}

TEST_CASE("backward: leaves never share a gradient's storage") {
  const Variable a = leaf(ones({3}));
  const Variable b = leaf(ones({3}));
  (a + b).backward(Variable(full({3}, 2.0)));
  CHECK_FALSE(a.grad().value().shares_storage(b.grad().value()));
  Tensor(a.grad().value()).mul_(10);
  CHECK(b.grad().value().to_vector<float>() == std::vector<float>(3, 2));
}

TEST_CASE("backward: the gradient given is not written to") {
  const Variable x = leaf(ones({2}));
  const Variable dy(full({2}, 3.0));
  (x + 0).backward(dy);
  (x + 0).backward(dy);
  CHECK(dy.value().to_vector<float>() == std::vector<float>{3, 3});
  CHECK(x.grad().value().to_vector<float>() == std::vector<float>{6, 6});
}

TEST_CASE("backward: with create_graph, gradients share nothing either") {
  const Variable a = leaf(ones({3}));
  const Variable b = leaf(ones({3}));
  const Variable c = leaf(full({3}, 2));
  sum((a + b) * c).backward({.create_graph = true});
  sum(a * 10).backward();
  CHECK(a.grad().value().to_vector<float>() == std::vector<float>(3, 12));
  CHECK(b.grad().value().to_vector<float>() == std::vector<float>(3, 2));

  const Variable seed = leaf(full({3}, 5));
  const Variable x = leaf(ones({3}));
  const Variable h = x + 0;
  h.retain_grad();
  (h + 0).backward(seed, {.create_graph = true});
  sum(x * 3).backward();
  CHECK(seed.value().to_vector<float>() == std::vector<float>(3, 5));
  CHECK(h.grad().value().to_vector<float>() == std::vector<float>(3, 5));
  CHECK(x.grad().value().to_vector<float>() == std::vector<float>(3, 8));
  for (const Variable& each : {a, b, c, x, h}) {
    each.zero_grad();  // a gradient with a graph leads back to its leaf
  }
}

TEST_CASE("backward: a graph made of it leads on from each gradient") {
  const Variable x = leaf(3);
  const Variable w = leaf(2);
  (x + w * w).backward({.create_graph = true});
  CHECK(gradient(x) == 1);
  w.grad().backward();  // d(2 w) / dw, added to it
  CHECK(gradient(w) == 4 + 2);
  x.zero_grad();  // as above
  w.zero_grad();
}

TEST_CASE("backward: a leaf that no longer requires a gradient gets none") {
  Variable x = leaf(2);
  const Variable w = leaf(3);
  const Variable y = x * w;
  x.set_requires_grad(false);
  y.backward();
  CHECK_FALSE(x.grad().defined());
  CHECK(gradient(w) == 2);
}

TEST_CASE("backward: operands that were broadcast get their own shape") {
  const auto check = [](const Shape& a_shape, const Shape& b_shape) {
    const Variable a = leaf(full(a_shape, 2, kFloat64));
    const Variable b = leaf(full(b_shape, 3, kFloat64));
    const Variable y = a * b;
    y.backward(Variable(ones(y.shape(), kFloat64)));
    CHECK(a.grad().shape() == a_shape);
    CHECK(b.grad().shape() == b_shape);
    const double repeats_a =
        static_cast<double>(y.numel()) / static_cast<double>(a.numel());
    const double repeats_b =
        static_cast<double>(y.numel()) / static_cast<double>(b.numel());
    for (double v : a.grad().value().to_vector<double>()) {
      CHECK(v == 3 * repeats_a);
    }
    for (double v : b.grad().value().to_vector<double>()) {
      CHECK(v == 2 * repeats_b);
    }
  };
  check({1}, {5, 4});
  check({4, 1}, {1, 4});
  check({2, 1, 4, 64}, {2, 1, 4, 1});
  check({2}, {});
  check({3}, {2, 3});
  check({1}, {2, 1, 3});
}

TEST_CASE("backward: a million operations fit a 512 KiB stack") {
  run_in_stack(512 * 1024, [] {
    constexpr int64_t kLength = 1'000'000;
    const int64_t nodes = live_nodes();
    {
      const Variable x = leaf(ones({9}));
      chain(x, kLength);  // dropped at once
      CHECK(live_nodes() == nodes + 1);
      Variable y = chain(x, kLength);
      y = Variable(zeros({1}));  // overwritten
      CHECK(live_nodes() == nodes + 2);
      y = chain(x, kLength);
      sum(y).backward();
      CHECK(x.grad().value().to_vector<float>() == std::vector<float>(9, 1));
    }
    CHECK(live_nodes() == nodes);
  });
}

TEST_CASE("backward: a long chain of saved values fits a 512 KiB stack") {
  run_in_stack(512 * 1024, [] {
    const Variable x = leaf(ones({9}));
    Variable y = x;
    for (int i = 0; i < 200'000; ++i) {
      y = y + y * 0;
    }
    sum(y).backward();
    CHECK(x.grad().value().to_vector<float>() == std::vector<float>(9, 1));
  });
}

TEST_CASE("backward: what forward passes made is freed when it is dropped") {
  const Variable x = leaf(full({8}, 0.5));
  const int64_t nodes = live_nodes();
  const int64_t tensors = memory_stats().live_tensors;
  const auto forward = [&x] {
    return sum(exp(x) * sigmoid(x) + tanh(x) * sqrt(x));
  };
  for (int i = 0; i < 1000; ++i) {
    forward();
  }
  CHECK(live_nodes() == nodes);
  CHECK(memory_stats().live_tensors == tensors);
  forward().backward();
  x.zero_grad();
  CHECK(live_nodes() == nodes);
  CHECK(memory_stats().live_tensors == tensors);
}

TEST_CASE("backward: a gradient has no history unless a graph is made of it") {
  const Variable x = leaf(2);
  (x * x).backward();
  CHECK_FALSE(x.grad().requires_grad());
  x.zero_grad();
  (x * x * x).backward({.create_graph = true});
  CHECK(x.grad().requires_grad());
  const Variable second = grad({x.grad()}, {x})[0];
  CHECK(second.item<double>() == 12);
  x.zero_grad();  // the gradient leads to x: without this x would keep itself
}

TEST_CASE("backward: values that nobody saved are freed during the forward") {
  const Variable x = leaf(ones({1000}));
  const int64_t tensors = memory_stats().live_tensors;
  const Variable y = ((x + 1) + 2) + 3;
  CHECK(memory_stats().live_tensors == tensors + 1);
  y.backward(Variable(ones({1000})));
}

TEST_CASE("backward: saved values are freed on the way") {
  const Variable x = leaf(ones({4}));
  const int64_t tensors = memory_stats().live_tensors;
  const Variable y = sum(exp(exp(exp(x))));
  CHECK(memory_stats().live_tensors == tensors + 4);
  y.backward();
  CHECK(memory_stats().live_tensors == tensors + 2);  // y and the gradient
}

TEST_CASE("backward: twice through one graph throws unless it is retained") {
  const Variable x = leaf(2);
  const Variable y = x * x;
  y.backward({.retain_graph = true});
  y.backward();
  CHECK(gradient(x) == 8);
  CHECK_THROWS_WITH_AS(
      y.backward(),
      "backward: the graph through \"mul\" was freed by an earlier backward; "
      "give that one retain_graph",
      std::logic_error);
  CHECK(gradient(x) == 8);
  CHECK_THROWS_AS(grad({y}, {x}), std::logic_error);
}

TEST_CASE("backward: a saved value that was overwritten is noticed") {
  SUBCASE("an input, through a view of it") {
    const Variable w = leaf(ones({4}));
    const Variable h = w * 2;
    const Variable y = sum(h * h);
    const uint32_t version = h.value().version();
    Tensor view = h.value().reshape({2, 2});
    view.add_(1);
    const std::string message =
        "backward: a value that \"mul\" saved was overwritten since (version " +
        std::to_string(version + 1) + ", saved at version " +
        std::to_string(version) + ")";
    CHECK_THROWS_WITH_AS(y.backward(), message.c_str(), std::logic_error);
    CHECK_FALSE(w.grad().defined());
  }
  SUBCASE("a result") {
    const Variable w = leaf(ones({4}));
    const Variable y = exp(w);
    const uint32_t version = y.value().version();
    Tensor(y.value()).mul_(2);
    const std::string message =
        "backward: the result of \"exp\" was overwritten after the operation "
        "(version " +
        std::to_string(version + 1) + ", made at version " +
        std::to_string(version) + ")";
    CHECK_THROWS_WITH_AS(sum(y).backward(), message.c_str(), std::logic_error);
  }
  SUBCASE("a parameter, between forward and backward") {
    const Variable w = leaf(ones({4}));
    const Variable x = leaf(ones({4}));
    const Variable y = sum(w * x);
    Tensor(w.value()).sub_(0.1);
    CHECK_THROWS_AS(y.backward(), std::logic_error);
  }
  SUBCASE("what no rule needs may be overwritten") {
    const Variable w = leaf(ones({4}));
    const Variable y = w + 1;
    Tensor(y.value()).fill_(7);
    sum(y).backward();
    CHECK(w.grad().value().to_vector<float>() == std::vector<float>(4, 1));
  }
}

TEST_CASE("backward: bad calls say what must hold") {
  const Variable x = leaf(ones({2}));
  CHECK_THROWS_WITH_AS(
      (x * 2).backward(),
      "backward: an output that is not a single number needs its gradient "
      "given, got shape [2]",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      (x * 2).backward(Variable(ones({3}))),
      "backward: the gradient must have the output's shape and dtype, float32 "
      "[2], got float32 [3]",
      std::invalid_argument);
  CHECK_THROWS_AS(
      (x * 2).backward(Variable(ones({2}, kFloat64))), std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      Variable(ones({})).backward(),
      "backward: the output must depend on a variable that requires a "
      "gradient, got a constant, as is all that is computed while recording is "
      "off",
      std::logic_error);
  CHECK_THROWS_AS(Variable().backward(), std::invalid_argument);
}

TEST_CASE("backward: what a rule returns is checked") {
  const Variable x = leaf(ones({3, 4}));
  const auto with = [&x](auto rule) {
    return record("mine", full({}, 1.0), {{x, rule}});
  };
  CHECK_THROWS_WITH_AS(
      with([](const Variable&) {
        return Variable(ones({4, 3}));
      }).backward(),
      "backward: gradient 0 of \"mine\" has shape [4, 3], its input has shape "
      "[3, 4]",
      std::logic_error);
  CHECK_THROWS_WITH_AS(
      with([](const Variable&) {
        return Variable(ones({3, 4}, kFloat64));
      }).backward(),
      "backward: gradient 0 of \"mine\" has dtype float64, its input has dtype "
      "float32",
      std::logic_error);
  const Variable joint =
      record("mine", full({}, 1.0), {x, x}, [](const Variable&) {
        return std::vector<Variable>(1);
      });
  CHECK_THROWS_WITH_AS(
      joint.backward(),
      "backward: \"mine\" must return a gradient for each of its 2 inputs, got "
      "1",
      std::logic_error);
}

TEST_CASE("backward: an exception in a rule changes no gradient") {
  const Variable a = leaf(1);
  const Variable b = leaf(1);
  const auto fails = [](const Variable&) -> Variable {
    throw std::runtime_error("on purpose");
  };
  const Variable bad = record("bad", full({}, 1, kFloat64), {{a, fails}});
  const Variable y = bad + b * 2;
  CHECK_THROWS_WITH(y.backward(), "on purpose");
  CHECK_FALSE(a.grad().defined());
  CHECK_FALSE(b.grad().defined());
  (b * 3).backward();  // nothing of the failed pass is left
  CHECK(gradient(b) == 3);
}

TEST_CASE("grad: returns gradients and leaves grad() alone") {
  const Variable x = leaf(3);
  const Variable h = x * x;
  const Variable y = h * 2;
  const auto gradients = grad({y}, {x, h}, {.retain_graph = true});
  CHECK(gradients[0].item<double>() == 12);
  CHECK(gradients[1].item<double>() == 2);
  CHECK_FALSE(x.grad().defined());
  CHECK(grad({y, h}, {x})[0].item<double>() == 18);
}

TEST_CASE("grad: only what leads to the inputs is computed") {
  const Variable x = leaf(3);
  const Variable other = leaf(3);
  int calls = 0;
  const auto count = [&calls](const Variable& dy) {
    ++calls;
    return dy;
  };
  const Variable counted =
      record("counted", full({}, 1, kFloat64), {{other, count}});
  CHECK(grad({x * counted}, {x})[0].item<double>() == 1);
  CHECK(calls == 0);
}

TEST_CASE("grad: an input that plays no part throws or stays undefined") {
  const Variable x = leaf(3);
  const Variable z = leaf(3);
  const Variable y = x * 2;
  CHECK_THROWS_WITH_AS(
      grad({y}, {x, z}, {.retain_graph = true}),
      "grad: input 1 plays no part in the outputs; set allow_unused to get an "
      "undefined gradient",
      std::logic_error);
  const auto gradients = grad({y}, {x, z}, {.allow_unused = true});
  CHECK(gradients[0].item<double>() == 2);
  CHECK_FALSE(gradients[1].defined());
}

TEST_CASE("grad: gradients can be differentiated to any order") {
  const Variable x = leaf(2);
  Variable y = x * x * x * x;
  const double expected[] = {32, 48, 48, 24};
  for (double value : expected) {
    y = grad({y}, {x}, {.create_graph = true})[0];
    CHECK(y.item<double>() == value);
  }
}

TEST_CASE("hooks: see each gradient once, and may change it") {
  const Variable x = leaf(2);
  const Variable h = x * 3;
  int calls = 0;
  const int64_t id = h.register_hook([&calls](const Variable& dy) {
    ++calls;
    return dy * 10;
  });
  x.register_hook([&calls](const Variable&) {
    ++calls;
    return Variable();
  });
  (h + h).backward();
  CHECK(calls == 2);
  CHECK(gradient(x) == 60);
  h.remove_hook(id);
  CHECK_THROWS_AS(h.remove_hook(id), std::invalid_argument);
  CHECK_THROWS_AS(
      Variable(ones({1})).register_hook([](const Variable& dy) { return dy; }),
      std::logic_error);
}

TEST_CASE("hooks: keep their state from call to call") {
  const Variable x = leaf(2);
  std::vector<int> seen;
  x.register_hook([&seen, calls = 0](const Variable&) mutable {
    seen.push_back(calls++);
    return Variable();
  });
  for (int i = 0; i < 3; ++i) {
    (x * 3).backward();
  }
  CHECK(seen == std::vector<int>{0, 1, 2});
}

TEST_CASE("hooks: a backward pass inside a hook leaves the outer one alone") {
  const Variable x = leaf(3);
  const Variable first = x * 2;
  const Variable y = first + x * 5;
  // By the time this hook runs, 5 has arrived at x.
  double inner = 0;
  SUBCASE("grad") {
    first.register_hook([&](const Variable&) {
      const GradMode mode(true);
      inner = grad({x * x}, {x})[0].item<double>();
      return Variable();
    });
    y.backward();
    CHECK(inner == 6);
    CHECK(gradient(x) == 7);
  }
  SUBCASE("backward") {
    first.register_hook([&](const Variable&) {
      const GradMode mode(true);
      (x * x).backward();
      inner = gradient(x);
      return Variable();
    });
    y.backward();
    CHECK(inner == 6);
    CHECK(gradient(x) == 13);
  }
  SUBCASE("one that throws") {
    first.register_hook([&](const Variable&) {
      const GradMode mode(true);
      const Variable z = x * x;
      const Variable broken = z * 2;
      broken.register_hook([](const Variable&) -> Variable {
        throw std::runtime_error("broken");
      });
      CHECK_THROWS_AS((broken + x).backward(), std::runtime_error);
      return Variable();
    });
    y.backward();
    CHECK(gradient(x) == 7);
  }
}

namespace {

Variable ten_times(const Variable& dy) { return dy * 10; }

// Copying it throws when `fuse` has burnt down.
struct Fragile {
  explicit Fragile(int* fuse) : fuse(fuse) {}
  Fragile(const Fragile& other) : fuse(other.fuse), kept(other.kept) {
    if (--*fuse < 0) {
      throw std::runtime_error("copied");
    }
  }
  Variable operator()(const Variable& dy) const { return dy; }
  int* fuse;
  std::vector<double> kept = std::vector<double>(100);
};

}  // namespace

TEST_CASE("record: a rule may be any callable of any size and alignment") {
  const Variable x = leaf(1);
  const auto with = [&x](auto&& rule) {
    x.zero_grad();
    record("mine", full({}, 1, kFloat64), {{x, rule}, {x, rule}}).backward();
    return gradient(x);
  };
  CHECK(with(ten_times) == 20);
  CHECK(with(&ten_times) == 20);
  CHECK(with(std::function<Variable(const Variable&)>(ten_times)) == 20);
  struct alignas(64) Large {
    Variable operator()(const Variable& dy, const Variable& y) const {
      CHECK(reinterpret_cast<uintptr_t>(this) % 64 == 0);
      return dy * y * factors[999];
    }
    double factors[1000] = {};
  };
  Large large;
  large.factors[999] = 3;
  CHECK(with(large) == 6);
}

TEST_CASE("record: a rule that cannot be kept leaves nothing behind") {
  const Variable x = leaf(1);
  const int64_t nodes = live_nodes();
  int fuse = 1;
  const Fragile rule(&fuse);
  const Tensor value = full({}, 1, kFloat64);
  CHECK_THROWS_WITH(record("mine", value, {{x, rule}, {x, rule}}), "copied");
  CHECK(live_nodes() == nodes);
}

TEST_CASE("record: an empty rule or an undefined result is refused at once") {
  const Variable x = leaf(1);
  const auto pass = [](const Variable& dy) { return dy; };
  const std::function<Variable(const Variable&)> none;
  CHECK_THROWS_AS(record("f", x.value(), {{x, none}}), std::invalid_argument);
  CHECK_THROWS_AS(
      record(
          "f",
          x.value(),
          {x},
          std::function<std::vector<Variable>(const Variable&)>()),
      std::invalid_argument);
  CHECK_THROWS_AS(record("f", Tensor(), {{x, pass}}), std::invalid_argument);
}

TEST_CASE("hooks: an empty one is refused when it is registered") {
  CHECK_THROWS_AS(leaf(1).register_hook({}), std::invalid_argument);
}

TEST_CASE("hooks: a gradient of another shape is refused") {
  const Variable x = leaf(2);
  x.register_hook([](const Variable&) { return Variable(ones({2})); });
  CHECK_THROWS_AS((x * 3).backward(), std::invalid_argument);
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("retain_grad: keeps the gradient of what is no leaf") {
  const Variable x = leaf(2);
  const Variable h = x * 3;
  const Variable k = x * 4;
  h.retain_grad();
  (h * k).backward();
  CHECK(gradient(h) == 8);
  CHECK_FALSE(k.grad().defined());
  CHECK_THROWS_AS(Variable(ones({1})).retain_grad(), std::logic_error);
}

TEST_CASE("NoGradGuard: nothing is recorded while it lives, on this thread") {
  const Variable x = leaf(2);
  {
    const NoGradGuard guard;
    CHECK_FALSE(grad_enabled());
    const Variable y = x * 2;
    CHECK_FALSE(y.requires_grad());
    CHECK(y.is_leaf());
    std::thread([&x] { CHECK((x * 2).requires_grad()); }).join();
  }
  CHECK((x * 2).requires_grad());
}

TEST_CASE("backward: threads may run it at the same time") {
  const Variable shared = leaf(ones({16}));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&shared] {
      for (int i = 0; i < 50; ++i) {
        sum(shared * 2).backward();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(
      shared.grad().value().to_vector<float>() == std::vector<float>(16, 400));
}

TEST_CASE("backward: nodes of one thread may be made from those of another") {
  const int64_t nodes = live_nodes();
  {
    const Variable x = leaf(2);
    Variable y = chain(x * x, 100);
    std::thread([&] { y = chain(y * x, 3); }).join();
    y = y * y;  // x^6
    y.backward();
    CHECK(gradient(x) == 6 * 32);
  }
  CHECK(live_nodes() == nodes);
}

TEST_CASE("backward: a value may be dropped while another thread passes it") {
  // exp() is asked for its value by its own rule, the sum is not.
  for (int i = 0; i < 200; ++i) {
    const Variable x = leaf(0);
    Variable shared = exp(x);
    const Variable y = shared + 1;
    std::thread other([&] { y.backward(); });
    shared = Variable();
    other.join();
    CHECK(gradient(x) == 1);
  }
}

TEST_CASE("backward: a rule that goes backward through itself is refused") {
  const Variable x = leaf(2);
  Variable y;
  const std::vector<double> kept(100, 1.0);  // freed with the rule
  y = record(
      "circular", full({}, 4.0, kFloat64), {{x, [kept, &y](const Variable& dy) {
                                               y.backward();
                                               return dy * kept[99];
                                             }}});
  CHECK_THROWS_AS(y.backward(), std::logic_error);
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE(
    "backward: a pass that a rule starts does not free the rule under it") {
  struct Probe {
    int* alive;
    explicit Probe(int* a) : alive(a) { ++*alive; }
    Probe(const Probe& other) : alive(other.alive) { ++*alive; }
    ~Probe() { --*alive; }
  };
  const Variable x = leaf(2);
  int alive = 0;
  int alive_afterwards = 0;
  bool nested = false;
  Variable y;
  {
    const Probe probe(&alive);
    y = record(
        "nested",
        full({}, 4.0, kFloat64),
        {{x, [probe, &y, &nested, &alive_afterwards](const Variable& dy) {
            if (!nested) {
              nested = true;
              y.backward();  // frees the graph, this rule too
              alive_afterwards = *probe.alive;
            }
            return dy * 2;
          }}});
  }
  y.backward({.retain_graph = true});
  CHECK(alive_afterwards > 0);
  CHECK(alive == 0);
  CHECK(gradient(x) == 4);
  CHECK_THROWS_AS(y.backward(), std::logic_error);
}

TEST_CASE("backward: works in a child forked while another thread is in it") {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    const Variable x = leaf(1);
    const Variable dy(ones({}, kFloat64));
    Variable y = x;
    for (int i = 0; i < 200; ++i) {
      y = y * x;
    }
    while (!stop) {  // no malloc() outside: a sanitizer's may not be forked in
      y.backward(dy, {.retain_graph = true});
    }
  });
  int failed = 0;
  for (int i = 0; i < 50 && failed == 0; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      const Variable x = leaf(3);
      (x * x).backward();
      _exit(gradient(x) == 6 ? 0 : 1);
    }
    int status = 0;
    failed += child < 0 || waitpid(child, &status, 0) != child || status != 0;
  }
  stop = true;
  other.join();
  CHECK(failed == 0);
}
