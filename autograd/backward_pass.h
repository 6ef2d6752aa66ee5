#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "autograd/node.h"
#include "autograd/variable.h"

namespace heed {

/// Reverse-mode differentiation: nodes are visited in the reverse order of
/// their creation. Inputs are older than what was made of them, so when a
/// node's turn comes all gradients that lead to it have arrived. One queue, no
/// recursion. One pass at a time, or one inside the other: the sums of
/// gradients that have arrived lie in the nodes.
class BackwardPass {
 public:
  explicit BackwardPass(BackwardOptions options)
      : options_(options), nested_(passes_++ > 0) {}
  ~BackwardPass() {
    // After an exception: forget what was still under way.
    for (Node* node : queue_) {
      node->pending = Variable();
    }
    for (auto& [node, outer] : set_aside_) {
      node->pending = std::move(outer);
    }
    --passes_;
  }
  BackwardPass(const BackwardPass&) = delete;
  BackwardPass& operator=(const BackwardPass&) = delete;

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

  inline static int64_t passes_ = 0;  // under way, one inside the other

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

}  // namespace heed
