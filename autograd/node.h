#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
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
///
/// A node, its edges and their rules are one block of memory.
class Node {
 public:
  /// Keeps a node in the graph without keeping its value.
  class Ref {
   public:
    Ref() = default;
    explicit Ref(Node* node) noexcept : node_(node) {
      if (node_ != nullptr) {
        node_->counts_.fetch_add(kEdge, std::memory_order_relaxed);
      }
    }
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
    explicit operator bool() const { return node_ != nullptr; }

   private:
    Node* node_ = nullptr;
  };

  struct Edge {
    /// Empty when the input wants no gradient.
    Ref input;
    /// Empty then, too, and when a joint rule serves all.
    Rule<Variable> rule;
  };
  using JointRule = Rule<std::vector<Variable>>;

  struct Hooks {
    /// Shared with a pass that runs them: one may remove itself.
    std::vector<std::pair<int64_t, std::shared_ptr<const Variable::Hook>>> list;
    int64_t next_id = 0;
  };

  /// A leaf.
  static Variable make_leaf(Tensor&& value, bool requires_grad);

  /// Where the rules of a node go: behind it and its edges. Counting the rules
  /// first tells how large the node is.
  class Layout {
   public:
    explicit Layout(size_t num_edges)
        : bytes_(sizeof(Node) + num_edges * sizeof(Edge)) {}
    size_t bytes() const { return bytes_; }
    /// The place of the next rule, in bytes from the start of the node.
    template <typename Result>
    size_t add(const RuleType<Result>& type) {
      const size_t place =
          (bytes_ + type.alignment - 1) / type.alignment * type.alignment;
      bytes_ = place + type.size;
      return place;
    }

   private:
    size_t bytes_;
  };

  /// The result of operation `name`, of `bytes` bytes, younger than a node of
  /// sequence `newest_input`. Its edges and rules are added next.
  static Variable make(
      Tensor&& value, const char* name, uint64_t newest_input, size_t bytes);
  /// Adds an edge that wants no gradient.
  void add_edge();
  /// Adds an edge to `input`, and the rule if it has one of its own.
  void add_edge(
      const Variable& input, const RuleSource<Variable>* rule, Layout& layout);
  void set_joint_rule(
      const RuleSource<std::vector<Variable>>& rule, Layout& layout);

  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  bool is_leaf() const { return name == nullptr; }
  const Shape& shape() const { return value.shape(); }
  DType dtype() const { return value.dtype(); }
  std::span<Edge> edges() {
    return {reinterpret_cast<Edge*>(this + 1), num_edges_};
  }
  std::span<const Edge> edges() const {
    return {reinterpret_cast<const Edge*>(this + 1), num_edges_};
  }
  /// Whether a rule is to be called with the value.
  bool wants_output() const {
    return counts_.load(std::memory_order_acquire) & kRulesKeepValue;
  }
  /// Forgets the rules and what they saved; the edges stay.
  void release_rules();
  /// How many Variables refer to this.
  uint32_t variable_count() const {
    return variables(counts_.load(std::memory_order_acquire));
  }

  const char* const name;   ///< Of the operation; a literal.
  const uint64_t sequence;  ///< Greater than that of any input.
  /// Without numbers once no Variable and no rule needs them.
  Tensor value;
  const uint32_t version;  ///< Of the value, when the operation made it.
  bool requires_grad;
  bool retains_grad = false;
  bool released = false;  ///< The rules are forgotten, or will be.
  int visits = 0;         ///< Passes that run the rules now, one in the other.
  JointRule joint_rule;
  Variable grad;
  Variable pending;  ///< The engine's sum of gradients that have arrived.
  std::unique_ptr<Hooks> hooks;

 private:
  friend class Variable;

  // Both counts in one word, which one atomic operation can change: edges, then
  // Variables, then whether a rule wants the value as if it were a Variable.
  static constexpr uint64_t kEdge = 1;
  static constexpr uint64_t kVariable = uint64_t{1} << 32;
  static constexpr uint64_t kRulesKeepValue = uint64_t{1} << 63;
  static constexpr uint32_t edges(uint64_t counts) {
    return static_cast<uint32_t>(counts);
  }
  static constexpr uint32_t variables(uint64_t counts) {
    return static_cast<uint32_t>((counts & ~kRulesKeepValue) >> 32);
  }

  Node(
      Tensor&& value,
      const char* name,
      uint64_t newest_input,
      bool requires_grad,
      size_t bytes);
  ~Node();

  template <typename Result>
  void set_rule(
      Rule<Result>& rule, const RuleSource<Result>& source, Layout& layout);
  void add_variable() noexcept;
  void drop_variable() noexcept;
  void drop_edge() noexcept;
  void doom() noexcept;

  std::atomic<uint64_t> counts_{kVariable + kEdge};
  const uint32_t bytes_;
  uint32_t num_edges_ = 0;
  Node* next_doomed_ = nullptr;
};

/// Nodes alive in this process: all Variables and what they came from.
int64_t live_nodes();

}  // namespace heed
