#include "autograd/record.h"

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

Variable make(const char* name, const Tensor& value, size_t inputs) {
  if (!is_floating(value.dtype())) {
    fail(
        name,
        "a result that a gradient flows through must be floating, got ",
        value.dtype());
  }
  Node* node = new Node(value, /*requires_grad=*/true);
  Variable y = Variable::of(node);
  node->name = name;
  node->version = value.version();
  node->edges.reserve(inputs);
  return y;
}

}  // namespace

Variable record(
    const char* name,
    const Tensor& value,
    std::initializer_list<Input> inputs) {
  check_defined(name, value, "the result");
  bool needed = false;
  for (const Input& input : inputs) {
    check_rule(name, static_cast<bool>(input.rule));
    needed |= wants_gradient(input.variable);
  }
  if (!needed || !grad_enabled()) {
    return Variable(value);
  }
  Variable y = make(name, value, inputs.size());
  for (const Input& input : inputs) {
    Node::Edge& edge = y.node()->edges.emplace_back();
    if (wants_gradient(input.variable)) {
      edge.input = Node::Ref(input.variable.node());
      edge.rule = std::move(input.rule);
      y.node()->wants_output |= edge.rule.wants_output();
    }
  }
  return y;
}

Variable record(
    const char* name,
    const Tensor& value,
    const std::vector<Variable>& inputs,
    JointRule rule) {
  check_defined(name, value, "the result");
  check_rule(name, static_cast<bool>(rule));
  bool needed = false;
  for (const Variable& input : inputs) {
    needed |= wants_gradient(input);
  }
  if (!needed || !grad_enabled()) {
    return Variable(value);
  }
  Variable y = make(name, value, inputs.size());
  for (const Variable& input : inputs) {
    Node::Edge& edge = y.node()->edges.emplace_back();
    if (wants_gradient(input)) {
      edge.input = Node::Ref(input.node());
    }
  }
  y.node()->wants_output = rule.wants_output();
  y.node()->joint_rule = std::move(rule);
  return y;
}

}  // namespace heed
