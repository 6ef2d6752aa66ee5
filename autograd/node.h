#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "autograd/rule.h"
#include "autograd/variable.h"

namespace heed {

/// What stands behind a Variable: its value and, when an operation made it, the
/// way back to that operation's inputs.
///
/// Two counts keep it. Variables, in users' hands or saved by rules, keep the
/// value; edges, from the operations it was an input of, keep only the history,
/// so an intermediate value that nobody needs is freed while its place in the
/// graph stays. All Variables together count as one edge.
class Node {
 public:
  /// Keeps a node in the graph without keeping its value.
  class Ref {
   public:
    Ref() = default;
    explicit Ref(Node* node) noexcept : node_(node) { retain(); }
    Ref(const Ref& other) noexcept : node_(other.node_) { retain(); }
    Ref(Ref&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
    Ref& operator=(Ref other) noexcept {
      std::swap(node_, other.node_);
      return *this;
    }
    ~Ref() {
      if (node_ != nullptr) {
        node_->drop_edge();
      }
    }
    Node* get() const { return node_; }
    Node* operator->() const { return node_; }
    explicit operator bool() const { return node_ != nullptr; }

   private:
    void retain() const noexcept {
      if (node_ != nullptr) {
        node_->edges_.fetch_add(1, std::memory_order_relaxed);
      }
    }
    Node* node_ = nullptr;
  };

  struct Edge {
    Ref input;  ///< Empty when the input wants no gradient.
    Rule rule;  ///< Empty as well then, and when a joint rule serves all.
  };

  struct Hooks {
    std::vector<std::pair<int64_t, Variable::Hook>> list;
    int64_t next_id = 0;
  };

  Node(const Tensor& value, bool requires_grad);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  bool is_leaf() const { return name == nullptr; }
  /// Forgets the rules and what they saved; the edges stay.
  void release_rules();
  /// How many Variables refer to this.
  uint32_t variable_count() const {
    return variables_.load(std::memory_order_acquire);
  }

  const char* name = nullptr;  ///< Of the operation; a literal.
  const uint64_t sequence;     ///< Order of creation: inputs come first.
  const Shape shape;
  const DType dtype;
  Tensor value;  ///< Empty once no Variable and no rule needs it.
  bool requires_grad;
  bool retains_grad = false;
  bool wants_output = false;  ///< A rule here is called with the value.
  bool released = false;      ///< release_rules() was called.
  uint32_t version = 0;       ///< Of the value, when the operation made it.
  std::vector<Edge> edges;
  JointRule joint_rule;
  Variable grad;
  Variable pending;  ///< The engine's sum of gradients that have arrived.
  std::unique_ptr<Hooks> hooks;

 private:
  friend class Variable;

  ~Node();
  void add_variable() noexcept {
    if (variables_.fetch_add(1, std::memory_order_relaxed) == 0) {
      edges_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  void drop_variable() noexcept;
  void drop_edge() noexcept;

  std::atomic<uint32_t> variables_{0};
  std::atomic<uint32_t> edges_{0};
  Node* next_doomed_ = nullptr;
};

/// Nodes alive in this process: all Variables and what they came from.
int64_t live_nodes();

}  // namespace heed
