#include <algorithm>
#include <mutex>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "autograd/elementwise.h"
#include "autograd/grad_mode.h"
#include "autograd/node.h"
#include "autograd/reduction.h"
#include "autograd/rule_scope.h"
#include "autograd/variable.h"

namespace heed {
namespace {

// Reverse-mode differentiation: nodes are visited in the reverse order of their
// creation. Inputs are older than what was made of them, so when a node's turn
// comes all gradients that lead to it have arrived. One queue, no recursion.
class Backward {
 public:
  explicit Backward(BackwardOptions options)
      : options_(options), nested_(passes++ > 0) {}
  ~Backward() {
    // After an exception: forget what was still under way.
    while (!queue_.empty()) {
      pop()->pending = Variable();
    }
    for (auto& [node, outer] : set_aside_) {
      outer.first->pending = std::move(outer.second);
    }
    --passes;
  }
  Backward(const Backward&) = delete;
  Backward& operator=(const Backward&) = delete;

  /// Restricts the pass to what leads from `outputs` to `inputs`, whose
  /// gradients are kept for captured() instead of being accumulated.
  void capture(
      const std::vector<Variable>& outputs,
      const std::vector<Variable>& inputs);
  /// The gradient `dy` of `node` has arrived.
  void send(const Node::Ref& node, const Variable& dy);
  void run();
  /// Adds the gradients of leaves (and of who retains them) to grad().
  void accumulate();
  Variable captured(const Node* node) const { return targets_.at(node); }

 private:
  struct Younger {
    bool operator()(const Node::Ref& a, const Node::Ref& b) const {
      return a->sequence < b->sequence;
    }
  };

  Node::Ref pop();
  /// Whether a gradient is to go on from `node` to an input.
  bool leads_on(const Node& node) const;
  void visit(Node& node, const Variable& dy);
  void deliver(const Node& node, size_t input, Variable gradient);
  bool is_wanted(const Node* node) const {
    return !captures_ || wanted_.contains(node);
  }

  inline static int64_t passes = 0;  // under way, one inside the other

  BackwardOptions options_;
  const bool nested_;  // started by a rule or a hook of another pass
  std::priority_queue<Node::Ref, std::vector<Node::Ref>, Younger> queue_;
  std::vector<std::pair<Node::Ref, Variable>> results_;
  bool captures_ = false;
  std::unordered_map<const Node*, Variable> targets_;
  std::unordered_set<const Node*> wanted_;  // leads to a target, or is one
  // What had arrived in the outer pass at nodes that this one comes to as well.
  std::unordered_map<const Node*, std::pair<Node::Ref, Variable>> set_aside_;
};

void Backward::capture(
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
    for (const Node::Edge& edge : reachable[i]->edges) {
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

bool Backward::leads_on(const Node& node) const {
  if (!captures_) {
    return !node.is_leaf();
  }
  return std::any_of(node.edges.begin(), node.edges.end(), [&](auto& edge) {
    return wanted_.contains(edge.input.get());
  });
}

// Whether nobody but `x` sees its numbers, which lie densely.
bool is_private(const Variable& x) {
  return x.node()->variable_count() == 1 && x.value().is_unique() &&
         x.value().is_contiguous();
}

void Backward::send(const Node::Ref& node, const Variable& dy) {
  Variable& sum = node->pending;
  if (nested_ && !set_aside_.contains(node.get())) {
    set_aside_.emplace(
        node.get(), std::pair(node, std::exchange(sum, Variable())));
  }
  if (!sum.defined()) {
    sum = dy;
    queue_.push(node);
  } else if (!grad_enabled() && is_private(sum)) {
    Tensor total = sum.value();
    total.add_(dy.value());
  } else {
    sum = sum + dy;
  }
}

Node::Ref Backward::pop() {
  Node::Ref node = queue_.top();
  queue_.pop();
  return node;
}

void Backward::run() {
  while (!queue_.empty()) {
    const Node::Ref node = pop();
    Variable dy = std::exchange(node->pending, Variable());
    if (node->hooks != nullptr) {
      const auto hooks = node->hooks->list;  // one may remove itself
      for (const auto& [id, hook] : hooks) {
        const Variable changed = hook(dy);
        if (changed.defined()) {
          if (changed.shape() != node->shape ||
              changed.dtype() != node->dtype) {
            fail(
                "backward",
                "a hook must return a gradient of ",
                node->dtype,
                " ",
                node->shape,
                ", got ",
                changed.dtype(),
                " ",
                changed.shape());
          }
          dy = changed;
        }
      }
    }
    if (captures_) {
      if (const auto target = targets_.find(node.get());
          target != targets_.end()) {
        target->second = dy;
      }
    } else if (node->is_leaf() || node->retains_grad) {
      results_.emplace_back(node, dy);
    }
    if (leads_on(*node.get())) {
      visit(*node.get(), dy);
    }
  }
}

// Marks a node as freed while its rules run, so that a pass started by one of
// them does not free the rule under it; for good once keep() is called.
class Releasing {
 public:
  Releasing(Node& node, bool active) : node_(node), active_(active) {
    node_.released |= active_;
  }
  ~Releasing() {
    if (active_) {
      node_.released = false;
    }
  }
  Releasing(const Releasing&) = delete;
  Releasing& operator=(const Releasing&) = delete;

  void keep() {
    if (active_) {
      node_.release_rules();
      active_ = false;
    }
  }

 private:
  Node& node_;
  bool active_;
};

void Backward::visit(Node& node, const Variable& dy) {
  if (node.released) {
    fail<std::logic_error>(
        "backward",
        "the graph through \"",
        node.name,
        "\" was freed by an earlier backward; give that one retain_graph");
  }
  const RuleScope scope(node.name);
  Releasing releasing(node, !options_.retain_graph);
  Variable y;
  if (node.wants_output) {
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
    if (gradients.size() != node.edges.size()) {
      fail<std::logic_error>(
          "backward",
          "\"",
          node.name,
          "\" must return a gradient for each of its ",
          node.edges.size(),
          " inputs, got ",
          gradients.size());
    }
    for (size_t i = 0; i < gradients.size(); ++i) {
      deliver(node, i, std::move(gradients[i]));
    }
  } else {
    for (size_t i = 0; i < node.edges.size(); ++i) {
      const Node::Edge& edge = node.edges[i];
      if (edge.input && is_wanted(edge.input.get())) {
        deliver(node, i, edge.rule(dy, y));
      }
    }
  }
  releasing.keep();
}

void Backward::deliver(const Node& node, size_t input, Variable gradient) {
  const Node::Ref& to = node.edges[input].input;
  if (!gradient.defined() || !to || !is_wanted(to.get())) {
    return;
  }
  if (gradient.dtype() != to->dtype) {
    fail<std::logic_error>(
        "backward",
        "gradient ",
        input,
        " of \"",
        node.name,
        "\" has dtype ",
        gradient.dtype(),
        ", its input has dtype ",
        to->dtype);
  }
  if (gradient.shape() != to->shape) {
    if (!is_broadcastable_to(to->shape, gradient.shape())) {
      fail<std::logic_error>(
          "backward",
          "gradient ",
          input,
          " of \"",
          node.name,
          "\" has shape ",
          gradient.shape(),
          ", its input has shape ",
          to->shape);
    }
    gradient = sum_to(gradient, to->shape);
  }
  send(to, gradient);
}

void Backward::accumulate() {
  for (auto& [node, dy] : results_) {
    Variable& grad = node->grad;
    if (options_.create_graph) {
      grad = grad.defined() ? grad + dy : dy;
    } else if (grad.defined()) {
      Tensor total = grad.value();
      if (total.has_internal_overlap()) {
        grad = Variable(total = total.clone());
      }
      total.add_(dy.value());
    } else if (is_private(dy)) {
      grad = std::move(dy);
    } else {
      grad = Variable(dy.value().clone());
    }
  }
}

// One thread at a time: a pass keeps sums of gradients in the nodes. A rule or
// a hook may start another pass within.
std::recursive_mutex& engine_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

// `gradient` checked against `y`, or 1 in its stead.
Variable seed(std::string_view who, const Variable& y, const Variable& dy) {
  if (!y.defined()) {
    fail(who, "the output must be defined, got an empty handle");
  }
  if (!y.requires_grad()) {
    fail<std::logic_error>(
        who, "the output must depend on a variable that requires a gradient");
  }
  if (!dy.defined()) {
    if (y.numel() != 1) {
      fail(
          who,
          "an output that is not a single number needs its gradient given, "
          "got shape ",
          y.shape());
    }
    return Variable(Tensor(y.shape(), y.dtype()).fill_(1));
  }
  if (dy.shape() != y.shape() || dy.dtype() != y.dtype()) {
    fail(
        who,
        "the gradient must have the output's shape and dtype, ",
        y.dtype(),
        " ",
        y.shape(),
        ", got ",
        dy.dtype(),
        " ",
        dy.shape());
  }
  return dy;
}

}  // namespace

void Variable::backward(BackwardOptions options) const {
  backward(Variable(), options);
}

void Variable::backward(
    const Variable& gradient, BackwardOptions options) const {
  const Variable dy = seed("backward", *this, gradient);
  options.retain_graph |= options.create_graph;
  const std::lock_guard lock(engine_mutex());
  const GradMode mode(options.create_graph);
  Backward pass(options);
  pass.send(Node::Ref(node_), dy);
  pass.run();
  pass.accumulate();
}

std::vector<Variable> grad(
    const std::vector<Variable>& outputs,
    const std::vector<Variable>& inputs,
    const GradOptions& options) {
  if (!options.grad_outputs.empty() &&
      options.grad_outputs.size() != outputs.size()) {
    fail(
        "grad",
        "there must be one of grad_outputs for each output, got ",
        options.grad_outputs.size(),
        " for ",
        outputs.size());
  }
  for (const Variable& x : inputs) {
    if (!x.defined() || !x.requires_grad()) {
      fail<std::logic_error>("grad", "each input must require a gradient");
    }
  }
  std::vector<Variable> seeds;
  for (size_t i = 0; i < outputs.size(); ++i) {
    seeds.push_back(seed(
        "grad",
        outputs[i],
        options.grad_outputs.empty() ? Variable() : options.grad_outputs[i]));
  }
  const std::lock_guard lock(engine_mutex());
  const GradMode mode(options.create_graph);
  Backward pass(
      {.retain_graph = options.retain_graph || options.create_graph,
       .create_graph = options.create_graph});
  pass.capture(outputs, inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    pass.send(Node::Ref(outputs[i].node()), seeds[i]);
  }
  pass.run();
  std::vector<Variable> gradients;
  for (size_t i = 0; i < inputs.size(); ++i) {
    gradients.push_back(pass.captured(inputs[i].node()));
    if (!gradients.back().defined() && !options.allow_unused) {
      fail<std::logic_error>(
          "grad",
          "input ",
          i,
          " plays no part in the outputs; set allow_unused to get an "
          "undefined gradient");
    }
  }
  return gradients;
}

}  // namespace heed
