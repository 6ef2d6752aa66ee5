#include "autograd/backward_pass.h"

#include <algorithm>

#include "autograd/elementwise.h"
#include "autograd/grad_mode.h"
#include "autograd/record.h"
#include "autograd/reduction.h"
#include "autograd/rule_scope.h"

namespace heed {
namespace {

// Whether nobody but `x` sees its numbers, which lie densely.
bool is_private(const Variable& x) {
  return x.defined() && x.node()->variable_count() == 1 &&
         x.value().is_unique() && x.value().is_contiguous();
}

Variable clone(const Variable& x) {
  return record(
      "clone", x.value().clone(), {{x, [](const Variable& dy) { return dy; }}});
}

// A node while its rules run. Where they are to be freed afterwards it counts
// as freed meanwhile, so that a pass started by one of them does not use it;
// and when such a pass frees them, they last until this one is done with them.
class Visit {
 public:
  Visit(Node& node, bool frees) : node_(node), frees_(frees) {
    ++node_.visits;
    node_.released |= frees_;
  }
  ~Visit() {
    if (frees_) {
      node_.released = false;  // after an exception
    }
    if (--node_.visits == 0 && node_.released) {
      node_.release_rules();
    }
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  /// The rules have run: what is freed stays so.
  void succeed() { frees_ = false; }

 private:
  Node& node_;
  bool frees_;
};

}  // namespace

void BackwardPass::capture(
    const std::vector<Variable>& outputs, const std::vector<Variable>& inputs) {
  captures_ = true;
  for (const Variable& x : inputs) {
    targets_.emplace(x.node(), Variable());
  }
  // All that the outputs were made of, then from old to new: wanted is what is
  // a target or has a wanted input.
  std::vector<const Node*> reachable;
  std::unordered_set<const Node*> seen;
  const auto reach = [&](const Node* node) {
    if (node != nullptr && seen.insert(node).second) {
      reachable.push_back(node);
    }
  };
  for (const Variable& y : outputs) {
    reach(y.node());
  }
  for (size_t i = 0; i < reachable.size(); ++i) {
    for (const Node::Edge& edge : reachable[i]->edges()) {
      reach(edge.input.get());
    }
  }
  std::sort(reachable.begin(), reachable.end(), [](auto* a, auto* b) {
    return a->sequence < b->sequence;
  });
  for (const Node* node : reachable) {
    if (leads_on(*node) || targets_.contains(node)) {
      wanted_.insert(node);
    }
  }
}

bool BackwardPass::leads_on(const Node& node) const {
  if (!captures_) {
    return !node.is_leaf();
  }
  return std::any_of(node.edges().begin(), node.edges().end(), [&](auto& edge) {
    return wanted_.contains(edge.input.get());
  });
}

void BackwardPass::start(const Variable& y, Variable dy) {
  roots_.emplace_back(y.node());
  send(*y.node(), std::move(dy));
}

void BackwardPass::send(Node& node, Variable dy) {
  Variable& sum = node.pending;
  if (nested_ && !set_aside_.contains(&node)) {
    set_aside_.emplace(&node, std::exchange(sum, Variable()));
  }
  if (!sum.defined()) {
    sum = std::move(dy);
    queue_.push_back(&node);
    std::push_heap(queue_.begin(), queue_.end(), is_older);
  } else if (!grad_enabled() && is_private(sum)) {
    Tensor total = sum.value();
    total.add_(dy.value());
  } else {
    sum = sum + dy;
  }
}

// Lets the rule of `edge` add to what has arrived at its input, if that can be
// written to.
bool BackwardPass::add_in_place(const Node::Edge& edge, const Variable& dy) {
  const Variable& sum = edge.input.get()->pending;
  if (grad_enabled() || nested_ || !is_private(sum)) {
    return false;
  }
  Tensor total = sum.value();
  return edge.rule.add_to(total, dy);
}

Node& BackwardPass::pop() {
  std::pop_heap(queue_.begin(), queue_.end(), is_older);
  Node& node = *queue_.back();
  queue_.pop_back();
  return node;
}

Variable BackwardPass::after_hooks(const Node& node, Variable dy) const {
  const auto hooks = node.hooks->list;
  for (const auto& [id, hook] : hooks) {
    const Variable changed = (*hook)(dy);
    if (!changed.defined()) {
      continue;
    }
    if (changed.shape() != node.shape() || changed.dtype() != node.dtype()) {
      fail(
          "backward",
          "a hook must return a gradient of ",
          node.dtype(),
          " ",
          node.shape(),
          ", got ",
          changed.dtype(),
          " ",
          changed.shape());
    }
    dy = changed;
  }
  return dy;
}

void BackwardPass::run() {
  const RuleScope scope;
  while (!queue_.empty()) {
    Node& node = pop();
    Variable dy = std::exchange(node.pending, Variable());
    if (node.hooks != nullptr) {
      dy = after_hooks(node, std::move(dy));
    }
    if (captures_) {
      if (const auto target = targets_.find(&node); target != targets_.end()) {
        target->second = dy;
      }
    } else if (node.is_leaf() || node.retains_grad) {
      results_.emplace_back(&node, dy);
    }
    if (leads_on(node)) {
      visit(node, dy);
    }
  }
}

void BackwardPass::visit(Node& node, const Variable& dy) {
  if (node.released) {
    fail<std::logic_error>(
        "backward",
        "the graph through \"",
        node.name,
        "\" was freed by an earlier backward; give that one retain_graph");
  }
  RuleScope::enter(node.name);
  Visit running(node, !options_.retain_graph);
  Variable y;
  if (node.wants_output()) {
    if (node.version != node.value.version()) {
      fail<std::logic_error>(
          "backward",
          "the result of \"",
          node.name,
          "\" was overwritten after the operation (version ",
          node.value.version(),
          ", made at version ",
          node.version,
          ")");
    }
    y = Variable::of(&node);
  }
  if (node.joint_rule) {
    std::vector<Variable> gradients = node.joint_rule(dy, y);
    if (gradients.size() != node.edges().size()) {
      fail<std::logic_error>(
          "backward",
          "\"",
          node.name,
          "\" must return a gradient for each of its ",
          node.edges().size(),
          " inputs, got ",
          gradients.size());
    }
    for (size_t i = 0; i < gradients.size(); ++i) {
      deliver(node, i, std::move(gradients[i]));
    }
  } else {
    for (size_t i = 0; i < node.edges().size(); ++i) {
      const Node::Edge& edge = node.edges()[i];
      if (edge.input && is_wanted(edge.input.get()) &&
          !add_in_place(edge, dy)) {
        deliver(node, i, edge.rule(dy, y));
      }
    }
  }
  running.succeed();
}

void BackwardPass::deliver(const Node& node, size_t input, Variable gradient) {
  Node* const to = node.edges()[input].input.get();
  if (!gradient.defined() || to == nullptr || !is_wanted(to)) {
    return;
  }
  if (gradient.dtype() != to->dtype()) {
    fail<std::logic_error>(
        "backward",
        "gradient ",
        input,
        " of \"",
        node.name,
        "\" has dtype ",
        gradient.dtype(),
        ", its input has dtype ",
        to->dtype());
  }
  if (gradient.shape() != to->shape()) {
    if (!is_broadcastable_to(to->shape(), gradient.shape())) {
      fail<std::logic_error>(
          "backward",
          "gradient ",
          input,
          " of \"",
          node.name,
          "\" has shape ",
          gradient.shape(),
          ", its input has shape ",
          to->shape());
    }
    gradient = sum_to(gradient, to->shape());
  }
  send(*to, std::move(gradient));
}

void BackwardPass::accumulate() {
  for (auto& [node, dy] : results_) {
    if (node->is_leaf() && !node->requires_grad) {
      continue;  // it was told so after the forward
    }
    Variable& grad = node->grad;
    if (!grad.defined()) {
      // Never another's gradient, nor the caller's: the next pass may add to it
      // in place.
      grad = is_private(dy) ? std::move(dy) : clone(dy);
    } else if (options_.create_graph) {
      grad = grad + dy;
    } else {
      Tensor total = grad.value();
      if (total.has_internal_overlap()) {
        grad = Variable(total = total.clone());
      }
      total.add_(dy.value());
    }
  }
}

}  // namespace heed
