#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace heed {

class Node;

struct BackwardOptions {
  bool retain_graph = false;  ///< Keep what rules saved, for another backward.
  /// Record the backward pass; implies the above. A leaf's gradient then leads
  /// back to the leaf, and zero_grad() alone frees the two.
  bool create_graph = false;
};
// A sum of gradients that nobody else sees is added up in place, by the product
// itself where there is one; one that is seen (retained, held by a hook, or
// part of a graph that is kept) may be rounded otherwise in its last place.

/// A Tensor whose history is recorded: a reference-counted handle.
///
/// A leaf is made from a Tensor; it gets a gradient when it requires one. Any
/// other Variable is the result of an operation and knows its inputs. A Tensor
/// converts to a Variable that needs no gradient, so it may stand wherever a
/// Variable is asked for. Names mean exactly what they mean in PyTorch.
class Variable {
 public:
  /// A change of, or a look at, a gradient; an undefined result keeps it.
  using Hook = std::function<Variable(const Variable&)>;

  /// No variable at all; only defined() may be asked of it.
  Variable() = default;
  /// A constant.
  Variable(Tensor value);
  /// A leaf. Throws std::invalid_argument when an integer or bool tensor is to
  /// require a gradient.
  Variable(Tensor value, bool requires_grad);
  Variable(const Variable& other) noexcept;
  Variable(Variable&& other) noexcept
      : node_(std::exchange(other.node_, nullptr)) {}
  Variable& operator=(Variable other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Variable();

  bool defined() const { return node_ != nullptr; }
  /// The numbers. A Tensor is a handle: writing through a copy of it changes
  /// this Variable, which backward notices where it matters.
  const Tensor& value() const;

  const Shape& shape() const { return value().shape(); }
  int64_t size(int64_t dim) const { return value().size(dim); }
  int64_t dim() const { return value().dim(); }
  int64_t numel() const { return value().numel(); }
  DType dtype() const { return value().dtype(); }
  /// The only element. Throws std::invalid_argument unless there is just one.
  template <typename T>
  T item() const {
    return value().item<T>();
  }

  /// Whether a gradient flows to or through this.
  bool requires_grad() const;
  /// Throws std::logic_error unless this is a leaf, std::invalid_argument when
  /// an integer or bool tensor is to require a gradient.
  Variable& set_requires_grad(bool requires_grad);
  /// Whether this was made by hand and not by a recorded operation.
  bool is_leaf() const;
  /// The name of the operation that made it, nullptr for a leaf.
  const char* op_name() const;
  /// The gradient that backward has accumulated; undefined before. Only leaves
  /// and Variables with retain_grad() have one.
  Variable grad() const;
  /// Puts `grad` in its place; undefined for none.
  /// Throws std::invalid_argument unless it has the shape and dtype of this,
  /// and for this itself.
  void set_grad(const Variable& grad) const;
  /// Forgets the gradient.
  void zero_grad() const { set_grad(Variable()); }
  /// Keep the gradient of this though it is no leaf.
  /// Throws std::logic_error when it requires none.
  void retain_grad() const;
  /// Calls `hook` with each gradient of this before it is used any further.
  /// Returns a number for remove_hook().
  /// Throws std::logic_error when it requires no gradient,
  /// std::invalid_argument for an empty hook.
  int64_t register_hook(Hook hook) const;
  /// Throws std::invalid_argument unless `id` is that of a hook of this.
  void remove_hook(int64_t id) const;
  /// The same numbers without history: no gradient flows back through it.
  Variable detach() const;

  /// Adds the gradient of this single number to grad() of every leaf that it
  /// depends on and that requires one. What the graph saved is freed on the way
  /// unless options retain it. One backward runs at a time; other threads wait.
  /// Throws std::logic_error when this requires no gradient, when the graph was
  /// freed, or when a saved value was overwritten; std::invalid_argument when
  /// this is not one number. Nothing is accumulated then.
  void backward(BackwardOptions options = {}) const;
  /// As above for a Variable of any shape, given the gradient of this. Throws
  /// std::invalid_argument when that has another shape or dtype.
  void backward(const Variable& gradient, BackwardOptions options = {}) const;

  // Views, as those of Tensor (which see), recorded.

  Variable reshape(const Dims& shape) const;
  Variable flatten(int64_t start = 0, int64_t end = -1) const;
  Variable transpose(int64_t dim0, int64_t dim1) const;
  Variable permute(const Dims& dims) const;
  Variable slice(
      int64_t dim, int64_t start, int64_t stop, int64_t step = 1) const;
  Variable select(int64_t dim, int64_t index) const;
  Variable operator[](int64_t index) const { return select(0, index); }
  Variable expand(const Dims& shape) const;
  Variable squeeze(int64_t dim) const;
  Variable squeeze() const;
  Variable unsqueeze(int64_t dim) const;
  /// A dense row-major copy, or this when it is.
  Variable contiguous() const;
  /// Elements converted to the other floating dtype, or this.
  Variable to(DType dtype) const;

  /// What stands behind this handle; for the engine and for graph views.
  Node* node() const { return node_; }
  /// A handle to a node that an edge or another Variable keeps alive.
  static Variable of(Node* node);

 private:
  friend class Node;
  /// The first handle to a new node.
  explicit Variable(Node* node) : node_(node) {}

  Node* node_ = nullptr;
};

/// x.value(), or an undefined Tensor for an undefined Variable.
inline Tensor value_or_undefined(const Variable& x) {
  return x.defined() ? x.value() : Tensor();
}

struct GradOptions {
  /// One for each output; may be empty when all outputs are single numbers.
  std::vector<Variable> grad_outputs = {};
  bool retain_graph = false;
  bool create_graph = false;  ///< The gradients can be differentiated again.
  bool allow_unused = false;  ///< Undefined for an input that plays no part.
};

/// The gradients of `outputs` with respect to `inputs`, leaves or not, summed
/// over the outputs. grad() of no Variable changes, and only what leads to
/// `inputs` is computed.
/// Throws as backward, and std::logic_error for an input that plays no part
/// unless options allow it.
std::vector<Variable> grad(
    const std::vector<Variable>& outputs,
    const std::vector<Variable>& inputs,
    const GradOptions& options = {});

}  // namespace heed
