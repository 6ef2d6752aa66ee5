#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/variable.h"
#include "optim/parameter_group.h"
#include "tensor/state_dict.h"

namespace heed {

/// What all optimizers share: parameters in groups, their learning rates, what
/// is remembered of each parameter from update to update.
///
///     Adam optimizer(model.parameters(), {.lr = 1e-3});
///     for (...) {
///       optimizer.zero_grad();
///       loss(...).backward();
///       optimizer.step();
///     }
///
/// Parameters are leaves that require a gradient, dense and row-major, each
/// listed once; tied weights are one Variable, which a model's parameters()
/// lists once. A constructor throws std::invalid_argument for parameters that
/// are not so, for an empty group and for options out of range.
///
/// A gradient that is not finite makes the parameter so, as in PyTorch;
/// clip_grad_norm() tells before the step. Results are the same, bit for bit,
/// for any number of threads.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Updates every parameter that has a gradient; one without stays as it is,
  /// and so does what is remembered of it. It writes in place: a backward
  /// through a graph that saved the old values throws std::logic_error.
  void step();
  /// Forgets the gradients of all parameters.
  void zero_grad() const;

  /// How often step() was called. A schedule is asked for update steps() + 1.
  int64_t steps() const { return steps_; }

  size_t num_groups() const { return groups_.size(); }
  /// The rate of a group: the one set last, times the group's lr_scale.
  /// Throws std::invalid_argument when there is no such group, as set_lr.
  double lr(size_t group = 0) const;
  /// Sets the rate of all groups, each multiplied by its own lr_scale.
  /// Throws std::invalid_argument unless lr is finite and >= 0.
  void set_lr(double lr);
  /// Sets the rate of one group, multiplied by its lr_scale.
  void set_lr(size_t group, double lr);

  /// All parameters, group after group. state_dict() counts them so.
  const std::vector<Variable>& parameters() const { return parameters_; }

  /// A copy of all that changes from step to step:
  ///
  ///     step              int64 []    steps()
  ///     groups.K.lr       float64 []  of group K, before its lr_scale
  ///     I.step            int64 []    updates of parameter I, which then has
  ///     I.exp_avg, ...    as the parameter: PyTorch's names
  ///
  /// The other options are the program's: they are not in it.
  StateDict state_dict() const;
  /// Goes on from `state`, made by an optimizer of the same kind, groups and
  /// parameters. Throws std::invalid_argument with everything that does not
  /// fit and then changes nothing.
  void load_state_dict(const StateDict& state);

 protected:
  /// The most tensors that are remembered of a parameter.
  static constexpr size_t kMaxStates = 4;

  /// A parameter in a step: `numel` elements in each of these arrays.
  struct Update {
    int64_t numel;
    DType dtype;
    size_t group;
    int64_t step;  ///< Of this parameter, the first is 1.
    double lr;
    void* value;
    const void* grad;                      ///< Apart from value.
    std::array<void*, kMaxStates> states;  ///< In the order of state_names().

    /// The arrays as those of T, the type of `dtype`.
    template <typename T>
    T* values() const {
      return static_cast<T*>(value);
    }
    template <typename T>
    const T* grads() const {
      return static_cast<const T*>(grad);
    }
    template <typename T>
    T* state(size_t k) const {
      return static_cast<T*>(states[k]);
    }
  };

  /// Options have an `lr` and an `lr_scale`. `who` is a literal.
  template <typename Options>
  Optimizer(
      std::string_view who, const std::vector<ParameterGroup<Options>>& groups)
      : who_(who) {
    for (const ParameterGroup<Options>& group : groups) {
      add_group(group.parameters, {group.options.lr, group.options.lr_scale});
    }
    check_parameters();
  }

  /// The tensors that are remembered of each parameter in a group, at most
  /// kMaxStates. They have its shape and dtype and start at 0.
  virtual std::vector<std::string> state_names(size_t group) const = 0;
  /// Writes the new values and states.
  virtual void update(const std::vector<Update>& updates) = 0;

  std::string_view who() const { return who_; }
  /// Throws std::invalid_argument unless `ok`; `must` says what must hold.
  void check_option(bool ok, std::string_view must, double got) const;

 private:
  struct Group {
    double lr;
    double lr_scale;
  };
  struct State {
    int64_t step = 0;
    std::vector<Tensor> tensors;  // none before the first update
  };

  void add_group(const std::vector<Variable>& parameters, Group group);
  void check_parameters() const;
  void check_parameter(size_t i) const;
  /// Throws if two parameters share memory.
  void check_disjoint() const;
  Update prepare(size_t parameter, const Tensor& grad);
  void check_group(size_t group) const;

  const std::string_view who_;
  std::vector<Group> groups_;
  std::vector<Variable> parameters_;
  std::vector<size_t> group_of_;  // of each parameter
  std::vector<State> states_;     // of each parameter
  int64_t steps_ = 0;
};

}  // namespace heed
