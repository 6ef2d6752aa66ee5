#include "nn/module.h"

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "autograd/elementwise.h"
#include "autograd/reduction.h"
#include "nn/activation.h"
#include "nn/dropout.h"
#include "nn/linear.h"
#include "nn/module_list.h"
#include "nn/sequential.h"
#include "nn/transformer.h"
#include "tensor/comparison.h"
#include "tensor/creation.h"

using namespace heed;

namespace {

using Names = std::vector<std::string>;

Names names_of(const Module& module) {
  Names names;
  for (const auto& [name, parameter] : module.named_parameters()) {
    names.push_back(name);
  }
  return names;
}

std::string printed(const Module& module) {
  std::ostringstream out;
  out << module;
  return out.str();
}

/// What `f` throws, as text; empty when it does not throw an E.
template <typename E>
std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The example of module.h.
class Gate : public Module {
 public:
  explicit Gate(int64_t d_model = 2) : linear_(d_model, d_model) {
    add_module("linear", linear_);
    scale_ = add_parameter("scale", ones({d_model}));
  }
  Variable forward(const Variable& x) const {
    return x * sigmoid(linear_.forward(x)) * scale_;
  }

 private:
  Linear linear_;
  Variable scale_;
};

/// Two Linears under one weight.
class Tied : public Module {
 public:
  Tied() : first_(2, 2), second_(2, 2, {.bias = false}) {
    add_module("first", first_);
    add_module("second", second_);
    second_.tie_weight(first_.weight());
  }
  Linear first_, second_;
};

/// A member whose parameters stand under their own names.
class Unprefixed : public Module {
 public:
  Unprefixed() : gate_(2), linear_(2, 2) {
    add_module_unprefixed("gate", gate_);
    add_module("own", linear_);
  }
  Gate gate_;
  Linear linear_;
};

class ForgetsModule : public Module {
 public:
  ForgetsModule() : kept_(2, 2), forgotten_(2, 3) { add_module("kept", kept_); }

 private:
  Linear kept_, forgotten_;
};

class ForgetsLeaf : public Module {
 public:
  ForgetsLeaf() : scale_(ones({2}), true) {
    weight_ = add_parameter("weight", ones({2}));
  }

 private:
  Variable scale_, weight_;
};

/// Registers nothing at all: alone it has no parameters.
class ForgetsAll : public Layer {
 public:
  ForgetsAll() : scale_(ones({2}), true) {}
  Variable forward(const Variable& x) const override { return x * scale_; }

 private:
  Variable scale_;
};

template <typename T>
class Holds : public Module {
 public:
  Holds() { add_module("member", member_); }

 private:
  T member_;
};

/// Gives the registering functions to everybody.
class Open : public Module {
 public:
  using Module::add_module;
  using Module::add_module_unprefixed;
  using Module::add_parameter;
  using Module::tie_parameter;
};

}  // namespace

TEST_CASE("module: parameters have dotted names in order of registration") {
  const Holds<Unprefixed> model = {};
  CHECK(
      names_of(model) == Names{
                             "member.scale",
                             "member.linear.weight",
                             "member.linear.bias",
                             "member.own.weight",
                             "member.own.bias"});
  CHECK(model.num_parameters() == 2 + 6 + 6);
  CHECK(model.parameters().size() == 5);
}

TEST_CASE("module: a parameter is a leaf that requires a gradient") {
  const Gate gate(3);
  for (const Variable& parameter : gate.parameters()) {
    CHECK(parameter.is_leaf());
    CHECK(parameter.requires_grad());
  }
}

TEST_CASE("module: a tied parameter is listed and counted once") {
  const Tied model;
  CHECK(names_of(model) == Names{"first.weight", "first.bias"});
  CHECK(model.num_parameters() == 6);
  CHECK(model.first_.weight().node() == model.second_.weight().node());
}

TEST_CASE("module: state_dict holds tied parameters under each name") {
  const Tied model;
  const StateDict state = model.state_dict();
  CHECK(state.size() == 3);
  CHECK(state.at("second.weight").shares_storage(state.at("first.weight")));
  CHECK(state.at("first.weight").shares_storage(model.first_.weight().value()));
}

TEST_CASE("module: a model with the state of another computes the same") {
  const Gate one(3);
  Gate other(3);
  const Tensor x = tensor({{0.5, -1.0, 2.0}});
  CHECK_FALSE(equal(one.forward(x).value(), other.forward(x).value()));
  const LoadReport report = other.load_state_dict(one.state_dict());
  CHECK(report.ok());
  CHECK(equal(one.forward(x).value(), other.forward(x).value()));
  // The numbers were copied.
  CHECK_FALSE(one.state_dict().at("scale").shares_storage(
      other.state_dict().at("scale")));
}

TEST_CASE("module: a strict load names all that does not fit, loads nothing") {
  Gate gate(2);
  const Tensor before = gate.state_dict().at("linear.weight").clone();
  StateDict state;
  state["linear.weight"] = full({2, 2}, 7.0);
  state["scale"] = ones({3});
  state["shift"] = ones({2});
  const std::string error =
      error_of<std::invalid_argument>([&] { gate.load_state_dict(state); });
  CHECK(
      error ==
      "load_state_dict: names, shapes and dtypes must fit Gate, got"
      "\n  missing: linear.bias"
      "\n  unexpected: shift"
      "\n  mismatched: scale must be float32 [2], got float32 [3]");
  CHECK(equal(gate.state_dict().at("linear.weight"), before));
}

TEST_CASE("module: another dtype or an empty handle is a mismatch") {
  Gate gate(2);
  StateDict state = gate.state_dict();
  state["scale"] = ones({2}, kFloat64);
  state["linear.bias"] = Tensor();
  const LoadReport report = gate.load_state_dict(state, /*strict=*/false);
  CHECK(
      report.mismatched ==
      Names{
          "linear.bias must be float32 [2], got an empty handle",
          "scale must be float32 [2], got float64 [2]"});
  CHECK_THROWS_AS(gate.load_state_dict(state), std::invalid_argument);
}

TEST_CASE("module: a lenient load takes what fits and reports the rest") {
  Gate gate(2);
  StateDict state;
  state["linear.weight"] = full({2, 2}, 7.0);
  state["scale"] = ones({3});
  state["shift"] = ones({2});
  const LoadReport report = gate.load_state_dict(state, /*strict=*/false);
  CHECK_FALSE(report.ok());
  CHECK(report.missing == Names{"linear.bias"});
  CHECK(report.unexpected == Names{"shift"});
  CHECK(report.mismatched.size() == 1);
  CHECK(equal(gate.state_dict().at("linear.weight"), full({2, 2}, 7.0)));
  CHECK(equal(gate.state_dict().at("scale"), ones({2})));
}

TEST_CASE("module: train and eval reach every module within") {
  Sequential net;
  net.add<Linear>(2, 2);
  Sequential& inner = net.add<Sequential>();
  const Dropout& dropout = inner.add<Dropout>();
  CHECK(dropout.is_training());
  net.eval();
  CHECK_FALSE(dropout.is_training());
  CHECK_FALSE(inner.is_training());
  net.train();
  CHECK(dropout.is_training());
  net.train(false);
  CHECK_FALSE(dropout.is_training());
}

TEST_CASE("module: zero_grad forgets all gradients") {
  const Gate gate(2);
  sum(gate.forward(ones({1, 2})) * tensor({0.3, -0.7})).backward();
  for (const Variable& parameter : gate.parameters()) {
    CHECK(parameter.grad().defined());
  }
  gate.zero_grad();
  for (const Variable& parameter : gate.parameters()) {
    CHECK_FALSE(parameter.grad().defined());
  }
}

TEST_CASE("module: apply calls with every module, children first") {
  Holds<Unprefixed> model;
  Names seen;
  model.apply([&](Module& module) {
    const std::string line = module.describe();
    seen.push_back(line.substr(0, line.find('(')));
  });
  CHECK(seen == Names{"Linear", "Gate", "Linear", "Unprefixed", "Holds"});
}

TEST_CASE("module: prints as a tree") {
  Sequential net;
  net.add<Linear>(2, 3);
  net.add<Sequential>().add<Activation>(ActivationKind::tanh);
  net.add<Linear>(3, 1, LinearOptions{.bias = false});
  CHECK(
      printed(net) ==
      "Sequential(\n"
      "  (0): Linear(in_features=2, out_features=3, bias=true)\n"
      "  (1): Sequential(\n"
      "    (0): Tanh()\n"
      "  )\n"
      "  (2): Linear(in_features=3, out_features=1, bias=false)\n"
      ")");
}

TEST_CASE("module: describes itself by its class unless told otherwise") {
  CHECK(Gate(2).describe() == "Gate()");
  CHECK(Holds<Gate>().describe() == "Holds()");
  class Local : public Module {};
  CHECK(Local().describe() == "Local()");
}

TEST_CASE("module: a summary has names, shapes and counts, tied ones once") {
  Tied model;
  CHECK(
      model.summary() ==
      "Tied\n"
      "parameter      shape                  count\n"
      "-------------------------------------------\n"
      "first.weight   [2, 2]                     4\n"
      "first.bias     [2]                        2\n"
      "second.weight  [2, 2]  tied to first.weight\n"
      "-------------------------------------------\n"
      "total                                     6\n");
  const Linear large(1000, 1234);
  CHECK(contains(large.summary(), "1,235,234\n"));
}

TEST_CASE("module: a name must be used once, not empty and without a dot") {
  Linear linear(1, 1), other(1, 1);
  Open module;
  module.add_parameter("weight", ones({1}));
  module.add_module("linear", linear);
  CHECK(error_of<std::invalid_argument>([&] {
          module.add_parameter("weight", ones({1}));
        }) == "Open: a name must be used once, got \"weight\" again");
  CHECK_THROWS_AS(module.add_module("weight", other), std::invalid_argument);
  CHECK_THROWS_AS(
      module.add_parameter("linear", ones({1})), std::invalid_argument);
  CHECK(error_of<std::invalid_argument>([&] {
          module.add_module("a.b", other);
        }) == "Open: a name must not be empty nor have a dot, got \"a.b\"");
  CHECK_THROWS_AS(module.add_parameter("", ones({1})), std::invalid_argument);
  CHECK(names_of(module) == Names{"weight", "linear.weight", "linear.bias"});
  module.add_module("other", other);
}

TEST_CASE("module: one name for two parameters is an error in state_dict") {
  Open module;
  Open inner;
  inner.add_parameter("weight", ones({1}));
  module.add_parameter("weight", ones({1}));
  module.add_module_unprefixed("inner", inner);
  CHECK_THROWS_AS(module.state_dict(), std::logic_error);
}

TEST_CASE("module: a parameter must be floating") {
  Open module;
  CHECK_THROWS_AS(
      module.add_parameter("ids", tensor({1, 2})), std::invalid_argument);
  CHECK(module.parameters().empty());
}

TEST_CASE("module: only a learnt leaf of the same shape and dtype can tie") {
  Open module;
  module.add_parameter("weight", ones({2}));
  const auto refuses = [&](const std::string& name, const Variable& other) {
    CHECK_THROWS_AS(module.tie_parameter(name, other), std::invalid_argument);
  };
  refuses("weight", Variable(ones({3}), true));
  refuses("weight", Variable(ones({2}, kFloat64), true));
  refuses("weight", Variable(ones({2})));
  refuses("weight", Variable(ones({2}), true) * 2);
  refuses("weight", Variable());
  refuses("bias", Variable(ones({2}), true));
  const Variable other(zeros({2}), true);
  module.tie_parameter("weight", other);
  CHECK(module.parameters()[0].node() == other.node());
}

TEST_CASE("module: a module cannot hold itself") {
  Open outer, inner;
  outer.add_module("inner", inner);
  CHECK(error_of<std::invalid_argument>([&] {
          inner.add_module("outer", outer);
        }) == "Open: a module must not hold itself, got Open() as \"outer\"");
  CHECK_THROWS_AS(outer.add_module("self", outer), std::invalid_argument);
}

TEST_CASE("module: an unregistered member module is noticed") {
  ForgetsModule model;
  const std::string expected =
      "ForgetsModule: every module it makes must be registered, got an "
      "unregistered Linear(in_features=2, out_features=3, bias=true); call "
      "add_module(name, member) in the constructor";
  CHECK(error_of<std::logic_error>([&] { model.parameters(); }) == expected);
  CHECK_THROWS_AS(model.state_dict(), std::logic_error);
  CHECK_THROWS_AS(model.eval(), std::logic_error);
  CHECK_THROWS_AS(model.apply([](Module&) {}), std::logic_error);
  CHECK_THROWS_AS(model.summary(), std::logic_error);
  CHECK_THROWS_AS(model.load_state_dict({}, false), std::logic_error);
}

TEST_CASE("module: an unregistered leaf is noticed") {
  const ForgetsLeaf model;
  CHECK(
      error_of<std::logic_error>([&] { model.parameters(); }) ==
      "ForgetsLeaf: every leaf it makes must be registered, got 1 "
      "unregistered; make them by add_parameter(name, initial)");
}

TEST_CASE("module: what a module within forgets is noticed") {
  CHECK_THROWS_AS(Holds<ForgetsModule>().parameters(), std::logic_error);
  CHECK_THROWS_AS(Holds<ForgetsLeaf>().parameters(), std::logic_error);
  CHECK_THROWS_AS(Holds<ForgetsAll>().parameters(), std::logic_error);
  CHECK_THROWS_AS(Holds<Holds<ForgetsAll>>().parameters(), std::logic_error);
  Sequential net;
  net.add<Linear>(2, 2);
  net.add<ForgetsAll>();
  CHECK_THROWS_AS(net.parameters(), std::logic_error);
  ModuleList<ForgetsModule> list;
  list.emplace_back();
  CHECK_THROWS_AS(list.parameters(), std::logic_error);
}

TEST_CASE("module: models side by side are none of each other's business") {
  const Gate first(2);
  const Dropout dropout;
  const Linear second(2, 2);
  const Tied third;
  const std::vector<std::unique_ptr<Gate>> several = [] {
    std::vector<std::unique_ptr<Gate>> gates;
    for (int i = 0; i < 3; ++i) {
      gates.push_back(std::make_unique<Gate>(2));
    }
    return gates;
  }();
  const Variable leaf(ones({2}), true);
  CHECK_NOTHROW(first.parameters());
  CHECK_NOTHROW(dropout.parameters());
  CHECK_NOTHROW(second.parameters());
  CHECK_NOTHROW(third.parameters());
  for (const auto& gate : several) {
    CHECK_NOTHROW(gate->parameters());
  }
  Transformer model(
      5,
      5,
      {.num_encoder_layers = 1,
       .num_decoder_layers = 1,
       .d_model = 4,
       .num_heads = 2,
       .d_ff = 4,
       .norm_first = true,
       .learned_positions = 4});
  const Linear after(2, 2);
  CHECK_NOTHROW(model.parameters());
}

TEST_CASE("module: containers may grow while other things are made") {
  Sequential encoder;
  Sequential decoder;
  ModuleList<Linear> list;
  encoder.add<Linear>(2, 2);
  decoder.add<Linear>(2, 2);
  const Variable input(ones({2}), true);
  const Linear alone(2, 2);
  list.emplace_back(2, 2);
  encoder.add<Linear>(2, 2);
  decoder.push_back(std::make_unique<Linear>(2, 2));
  list.push_back(std::make_unique<Linear>(2, 2));
  CHECK(encoder.parameters().size() == 4);
  CHECK(decoder.parameters().size() == 4);
  CHECK(list.parameters().size() == 4);
}

TEST_CASE("module: threads make, keep and free modules independently") {
  std::unique_ptr<Gate> from_another;
  std::unique_ptr<Gate> from_here = std::make_unique<Gate>(2);
  std::thread([&] {
    Sequential filler;  // so that counts per thread would coincide
    from_another = std::make_unique<Gate>(2);
    from_here.reset();
  }).join();
  // A later thread may be given the id of the one that has ended.
  for (int i = 0; i < 4; ++i) {
    std::thread([&] {
      const Gate gate(2);
      const Linear linear(2, 2);
      CHECK_NOTHROW(gate.parameters());
    }).join();
  }
  CHECK_NOTHROW(from_another->parameters());
  const Gate gate(2);
  CHECK_NOTHROW(gate.parameters());
  std::vector<std::thread> threads;
  std::vector<int> failures(4, 0);
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&failures, t] {
      for (int i = 0; i < 200; ++i) {
        const Tied model;
        const Gate other(2);
        failures[t] += model.parameters().size() != 2;
        failures[t] += other.parameters().size() != 3;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(failures == std::vector<int>(4, 0));
}

TEST_CASE("module: a member may be registered by another thread") {
  Open model;
  Linear linear(2, 2);
  Variable leaf(ones({2}), true);
  std::thread([&] {
    const Variable other(ones({2}), true);
    model.add_module("linear", linear);
  }).join();
  CHECK(model.parameters().size() == 2);
}
