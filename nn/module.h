#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "autograd/variable.h"
#include "tensor/state_dict.h"

namespace heed {

/// What did not fit when a StateDict was loaded.
struct LoadReport {
  std::vector<std::string> missing;     ///< The module has it, the dict not.
  std::vector<std::string> unexpected;  ///< The dict has it, the module not.
  std::vector<std::string> mismatched;  ///< Another shape or dtype; explained.

  bool ok() const {
    return missing.empty() && unexpected.empty() && mismatched.empty();
  }
  /// One line for each name.
  std::string to_string() const;
};

/// What learns: parameters under names, and modules within it.
///
/// A module is a class with plain members, registered in its constructor:
///
///     class Gate : public Module {
///      public:
///       explicit Gate(int64_t d_model) : linear_(d_model, d_model) {
///         add_module("linear", linear_);
///         scale_ = add_parameter("scale", ones({d_model}));
///       }
///       Variable forward(const Variable& x) const {
///         return x * sigmoid(linear_.forward(x)) * scale_;
///       }
///
///      private:
///       Linear linear_;
///       Variable scale_;
///     };
///
/// What the constructor makes but does not register is noticed: parameters()
/// and all that walks the tree then throw std::logic_error.
/// Modules are neither copied nor moved: registered references stay valid.
class Module {
 public:
  Module();
  virtual ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// All parameters of this and the modules within, tied ones once.
  std::vector<Variable> parameters() const;
  /// The same with dotted names; a tied parameter under its first name.
  std::vector<std::pair<std::string, Variable>> named_parameters() const;
  /// Number of elements of parameters().
  int64_t num_parameters() const;

  /// All parameters by dotted name, tied ones under each of theirs. The
  /// tensors share storage with the parameters: clone() what is to last.
  StateDict state_dict() const;
  /// Copies `state` into the parameters of the same name. When `strict` and
  /// anything does not fit, throws std::invalid_argument with the whole report
  /// and loads nothing. Otherwise loads what fits and reports the rest.
  LoadReport load_state_dict(const StateDict& state, bool strict = true);

  /// Training mode, of this and all within: dropout drops. On at first.
  void train(bool on = true);
  void eval() { train(false); }
  bool is_training() const { return training_; }

  /// Forgets all gradients.
  void zero_grad() const;
  /// Calls f with this and every module within, children first.
  void apply(const std::function<void(Module&)>& f);

  /// The class and its sizes in one line: `Linear(in_features=2, ...)`.
  virtual std::string describe() const = 0;
  /// A table of parameters with shapes and counts, the tied ones once.
  std::string summary() const;

  struct Child {
    std::string name;
    Module* module;
    bool prefixed;  ///< Whether its parameters' names start with `name`.
  };
  const std::vector<Child>& children() const { return children_; }

 protected:
  /// Registers a parameter and returns it: a leaf that requires a gradient.
  /// Throws std::invalid_argument for a name that is empty, has a dot or is
  /// taken, as add_module.
  Variable add_parameter(const std::string& name, const Tensor& initial);
  /// Puts another leaf behind the name, for tying.
  /// Throws std::invalid_argument unless shape and dtype agree.
  void tie_parameter(const std::string& name, const Variable& other);
  /// Registers a member.
  void add_module(const std::string& name, Module& child);
  /// Registers a member whose parameters go by their own names here, without
  /// `name` in front.
  void add_module_unprefixed(const std::string& name, Module& child);

 private:
  using Visit = std::function<void(const std::string&, const Variable&)>;

  void check_name(const std::string& name) const;
  void adopt(const std::string& name, Module& child, bool prefixed);
  void note_registration();
  /// Throws std::logic_error when the constructor left something out.
  void check_registered() const;
  void visit_parameters(const std::string& prefix, const Visit& visit) const;

  std::vector<std::pair<std::string, Variable>> parameters_;
  std::vector<Child> children_;
  bool training_ = true;

  // What was made between this module's construction and its last
  // registration, and not registered, was forgotten.
  const std::thread::id thread_;
  const int64_t birth_;
  const int64_t leaves_at_birth_;
  int64_t last_birth_;
  int64_t forgotten_leaves_ = 0;
};

/// Written as a tree of modules, as PyTorch does.
std::ostream& operator<<(std::ostream& out, const Module& module);

/// A module from one Variable to one: what a Sequential is made of.
class Layer : public Module {
 public:
  virtual Variable forward(const Variable& x) const = 0;
  Variable operator()(const Variable& x) const { return forward(x); }
};

}  // namespace heed
