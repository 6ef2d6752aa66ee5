#include <algorithm>
#include <mutex>
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
    for (Node* node : queue_) {
      node->pending = Variable();
    }
    for (auto& [node, outer] : set_aside_) {
      node->pending = std::move(outer);
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
  /// The gradient of an output, where the pass is to start.
  void start(const Variable& y, Variable dy);
  void run();
  /// Adds the gradients of leaves (and of who retains them) to grad().
  void accumulate();
  Variable captured(const Node* node) const { return targets_.at(node); }

 private:
  // For a heap with the youngest on top.
  static bool is_older(const Node* a, const Node* b) {
    return a->sequence < b->sequence;
  }

  /// The gradient `dy` of `node` has arrived.
  void send(Node& node, Variable dy);
  Node& pop();
  /// Whether a gradient is to go on from `node` to an input.
  bool leads_on(const Node& node) const;
  Variable after_hooks(const Node& node, Variable dy) const;
  void visit(Node& node, const Variable& dy);
  bool add_in_place(const Node::Edge& edge, const Variable& dy);
  void deliver(const Node& node, size_t input, Variable gradient);
  bool is_wanted(const Node* node) const {
    return !captures_ || wanted_.contains(node);
  }

  inline static int64_t passes = 0;  // under way, one inside the other

  BackwardOptions options_;
  const bool nested_;  // started by a rule or a hook of another pass
  // Edges last as long as the node they start from: all nodes of the pass are
  // kept by those where it started.
  std::vector<Node::Ref> roots_;
  std::vector<Node*> queue_;
  std::vector<std::pair<Node*, Variable>> results_;
  bool captures_ = false;
  std::unordered_map<const Node*, Variable> targets_;
  std::unordered_set<const Node*> wanted_;  // leads to a target, or is one
  // What had arrived in the outer pass at nodes that this one comes to as well.
  std::unordered_map<Node*, Variable> set_aside_;
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

bool Backward::leads_on(const Node& node) const {
  if (!captures_) {
    return !node.is_leaf();
  }
  return std::any_of(node.edges().begin(), node.edges().end(), [&](auto& edge) {
    return wanted_.contains(edge.input.get());
  });
}

// Whether nobody but `x` sees its numbers, which lie densely.
bool is_private(const Variable& x) {
  return x.defined() && x.node()->variable_count() == 1 &&
         x.value().is_unique() && x.value().is_contiguous();
}

void Backward::start(const Variable& y, Variable dy) {
  roots_.emplace_back(y.node());
  send(*y.node(), std::move(dy));
}

void Backward::send(Node& node, Variable dy) {
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
bool Backward::add_in_place(const Node::Edge& edge, const Variable& dy) {
  const Variable& sum = edge.input.get()->pending;
  if (grad_enabled() || nested_ || !is_private(sum)) {
    return false;
  }
  Tensor total = sum.value();
  return edge.rule.add_to(total, dy);
}

Node& Backward::pop() {
  std::pop_heap(queue_.begin(), queue_.end(), is_older);
  Node& node = *queue_.back();
  queue_.pop_back();
  return node;
}

Variable Backward::after_hooks(const Node& node, Variable dy) const {
  const auto hooks = node.hooks->list;  // one may remove itself
  for (const auto& [id, hook] : hooks) {
    const Variable changed = hook(dy);
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

void Backward::run() {
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
  RuleScope::enter(node.name);
  Releasing releasing(node, !options_.retain_graph);
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
  releasing.keep();
}

void Backward::deliver(const Node& node, size_t input, Variable gradient) {
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
  pass.start(*this, dy);
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
    pass.start(outputs[i], seeds[i]);
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
