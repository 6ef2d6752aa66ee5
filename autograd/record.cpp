#include "autograd/record.h"

#include <algorithm>

#include "autograd/grad_mode.h"
#include "autograd/node.h"

namespace heed {
namespace {

bool wants_gradient(const Variable& input) {
  return input.defined() && input.requires_grad();
}

void check_rule(const char* name, bool given) {
  if (!given) {
    fail(name, "the rule of an input must be a function, got an empty one");
  }
}

void check_differentiable(const char* name, const Tensor& value) {
  if (!is_floating(value.dtype())) {
    fail(
        name,
        "a result that a gradient flows through must be floating, got ",
        value.dtype());
  }
}

}  // namespace

Variable record(
    const char* name, Tensor value, std::initializer_list<Input> inputs) {
  check_defined(name, value, "the result");
  Node::Layout layout(inputs.size());
  uint64_t newest = 0;
  bool needed = false;
  for (const Input& input : inputs) {
    check_rule(name, static_cast<bool>(input.rule));
    if (wants_gradient(input.variable)) {
      needed = true;
      newest = std::max(newest, input.variable.node()->sequence);
      layout.add(input.rule.type());
    }
  }
  if (!needed || !grad_enabled()) {
    return Variable(std::move(value));
  }
  check_differentiable(name, value);
  Variable y = Node::make(std::move(value), name, newest, layout.bytes());
  layout = Node::Layout(inputs.size());
  for (const Input& input : inputs) {
    if (wants_gradient(input.variable)) {
      y.node()->add_edge(input.variable, &input.rule, layout);
    } else {
      y.node()->add_edge();
    }
  }
  return y;
}

Variable record(
    const char* name,
    Tensor value,
    const std::vector<Variable>& inputs,
    const RuleSource<std::vector<Variable>>& rule) {
  check_defined(name, value, "the result");
  check_rule(name, static_cast<bool>(rule));
  uint64_t newest = 0;
  bool needed = false;
  for (const Variable& input : inputs) {
    if (wants_gradient(input)) {
      needed = true;
      newest = std::max(newest, input.node()->sequence);
    }
  }
  if (!needed || !grad_enabled()) {
    return Variable(std::move(value));
  }
  check_differentiable(name, value);
  Node::Layout layout(inputs.size());
  layout.add(rule.type());
  Variable y = Node::make(std::move(value), name, newest, layout.bytes());
  layout = Node::Layout(inputs.size());
  for (const Variable& input : inputs) {
    if (wants_gradient(input)) {
      y.node()->add_edge(input, nullptr, layout);
    } else {
      y.node()->add_edge();
    }
  }
  y.node()->set_joint_rule(rule, layout);
  return y;
}

}  // namespace heed
