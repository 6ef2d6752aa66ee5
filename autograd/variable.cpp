#include "autograd/variable.h"

#include <algorithm>

#include "autograd/leaf_count.h"
#include "autograd/node.h"

namespace heed {
namespace {

Node& node_of(const Variable& x, std::string_view who) {
  if (!x.defined()) {
    fail(who, "the variable must be defined, got an empty handle");
  }
  return *x.node();
}

}  // namespace

Variable::Variable(Tensor value)
    : Variable(std::move(value), /*requires_grad=*/false) {}

Variable::Variable(Tensor value, bool requires_grad) {
  check_defined("Variable", value, "value");
  if (requires_grad && !is_floating(value.dtype())) {
    fail(
        "Variable",
        "only float32 and float64 can require a gradient, got ",
        value.dtype());
  }
  *this = Node::make_leaf(std::move(value), requires_grad);
  if (requires_grad) {
    detail::count_new_leaf();
  }
}

Variable::Variable(const Variable& other) noexcept : node_(other.node_) {
  if (node_ != nullptr) {
    node_->add_variable();
  }
}

Variable::~Variable() {
  if (node_ != nullptr) {
    node_->drop_variable();
  }
}

Variable Variable::of(Node* node) {
  Variable x;
  x.node_ = node;
  node->add_variable();
  return x;
}

const Tensor& Variable::value() const {
  if (!defined()) {
    fail(
        "value",
        "the variable must be defined (a grad() is once backward has reached "
        "it), got an empty handle");
  }
  return node_->value;
}

bool Variable::requires_grad() const {
  return node_of(*this, "requires_grad").requires_grad;
}

Variable& Variable::set_requires_grad(bool requires_grad) {
  Node& node = node_of(*this, "set_requires_grad");
  if (!node.is_leaf()) {
    fail<std::logic_error>(
        "set_requires_grad",
        "the variable must be a leaf, got a result of \"",
        node.name,
        "\"; use detach()");
  }
  if (requires_grad && !is_floating(node.dtype())) {
    fail(
        "set_requires_grad",
        "only float32 and float64 can require a gradient, got ",
        node.dtype());
  }
  node.requires_grad = requires_grad;
  return *this;
}

bool Variable::is_leaf() const { return node_of(*this, "is_leaf").is_leaf(); }

const char* Variable::op_name() const { return node_of(*this, "op_name").name; }

Variable Variable::grad() const { return node_of(*this, "grad").grad; }

void Variable::set_grad(const Variable& grad) const {
  Node& node = node_of(*this, "set_grad");
  if (grad.defined() &&
      (grad.shape() != node.shape() || grad.dtype() != node.dtype())) {
    fail(
        "set_grad",
        "the gradient must have the variable's shape and dtype, ",
        node.dtype(),
        " ",
        node.shape(),
        ", got ",
        grad.dtype(),
        " ",
        grad.shape());
  }
  if (grad.node() == &node) {
    fail("set_grad", "a variable must not be its own gradient; use detach()");
  }
  node.grad = grad;
}

void Variable::retain_grad() const {
  Node& node = node_of(*this, "retain_grad");
  if (!node.requires_grad) {
    fail<std::logic_error>(
        "retain_grad", "the variable must require a gradient");
  }
  node.retains_grad = true;
}

int64_t Variable::register_hook(Hook hook) const {
  Node& node = node_of(*this, "register_hook");
  if (!node.requires_grad) {
    fail<std::logic_error>(
        "register_hook", "the variable must require a gradient");
  }
  if (!hook) {
    fail("register_hook", "the hook must be a function, got an empty one");
  }
  if (node.hooks == nullptr) {
    node.hooks = std::make_unique<Node::Hooks>();
  }
  node.hooks->list.emplace_back(
      node.hooks->next_id, std::make_shared<const Hook>(std::move(hook)));
  return node.hooks->next_id++;
}

void Variable::remove_hook(int64_t id) const {
  Node& node = node_of(*this, "remove_hook");
  const auto removed =
      node.hooks == nullptr
          ? 0
          : std::erase_if(node.hooks->list, [id](const auto& entry) {
              return entry.first == id;
            });
  if (removed == 0) {
    fail("remove_hook", "id must be that of a hook, got ", id);
  }
}

Variable Variable::detach() const {
  return Variable(node_of(*this, "detach").value);
}

}  // namespace heed
