#include "optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <set>
#include <sstream>
#include <utility>

#include "autograd/node.h"
#include "tensor/error.h"

namespace heed {
namespace {

template <typename T>
Tensor number(T value) {
  Tensor x(Shape{}, dtype_of<T>);
  x.fill_(value);
  return x;
}

bool is_rate(double lr) { return std::isfinite(lr) && lr >= 0; }

/// Takes the entries of a StateDict that are expected and notes what is wrong.
class Reader {
 public:
  explicit Reader(const StateDict& state) : state_(state) {}

  bool has_any(const std::string& prefix) const {
    const auto next = state_.lower_bound(prefix);
    return next != state_.end() && next->first.starts_with(prefix);
  }

  /// A copy of entry `name`; undefined when it does not fit.
  Tensor tensor(const std::string& name, const Shape& shape, DType dtype) {
    expected_.insert(name);
    const auto found = state_.find(name);
    if (found == state_.end()) {
      problem() << name << " is missing";
      return Tensor();
    }
    const Tensor& x = found->second;
    if (!x.defined()) {
      problem() << name << " is not defined";
      return Tensor();
    }
    if (x.shape() != shape || x.dtype() != dtype) {
      problem() << name << " must be " << dtype << " " << shape << ", got "
                << x.dtype() << " " << x.shape();
      return Tensor();
    }
    return x.clone();
  }

  int64_t count(const std::string& name, int64_t least) {
    const Tensor x = tensor(name, {}, kInt64);
    const int64_t n = x.defined() ? x.item<int64_t>() : least;
    constexpr int64_t kMost = int64_t{1} << 53;
    if (n < least || n > kMost) {
      problem() << name << " must be in [" << least << ", 2^53], got " << n;
    }
    return n;
  }

  double rate(const std::string& name) {
    const Tensor x = tensor(name, {}, kFloat64);
    const double lr = x.defined() ? x.item<double>() : 0;
    if (!is_rate(lr)) {
      problem() << name << " must be finite and >= 0, got " << lr;
    }
    return lr;
  }

  /// Throws when anything did not fit or is left over.
  void finish(std::string_view who) {
    for (const auto& [name, tensor] : state_) {
      if (!expected_.contains(name)) {
        problem() << name << " is not of this optimizer";
      }
    }
    if (!problems_.str().empty()) {
      fail(
          who,
          "load_state_dict: the state must fit, nothing was loaded; got",
          problems_.str());
    }
  }

 private:
  std::ostream& problem() { return problems_ << "\n  "; }

  const StateDict& state_;
  std::set<std::string> expected_;
  std::ostringstream problems_;
};

}  // namespace

void Optimizer::add_group(
    const std::vector<Variable>& parameters, Group group) {
  check_option(is_rate(group.lr), "lr must be finite and >= 0", group.lr);
  check_option(
      is_rate(group.lr_scale),
      "lr_scale must be finite and >= 0",
      group.lr_scale);
  if (parameters.empty()) {
    fail(
        who_,
        "every group must have parameters, got none in group ",
        groups_.size());
  }
  parameters_.insert(parameters_.end(), parameters.begin(), parameters.end());
  group_of_.insert(group_of_.end(), parameters.size(), groups_.size());
  groups_.push_back(group);
  states_.resize(parameters_.size());
}

void Optimizer::check_parameters() const {
  if (parameters_.empty()) {
    fail(who_, "there must be parameters to optimize, got none");
  }
  for (size_t i = 0; i < parameters_.size(); ++i) {
    check_parameter(i);
  }
  check_disjoint();
}

void Optimizer::check_parameter(size_t i) const {
  const Variable& p = parameters_[i];
  if (!p.defined()) {
    fail(who_, "parameter ", i, " must be defined, got an empty handle");
  }
  if (!p.is_leaf()) {
    fail(
        who_,
        "parameter ",
        i,
        " must be a leaf, got a result of \"",
        p.op_name(),
        "\"");
  }
  if (!p.requires_grad()) {
    fail(
        who_,
        "parameter ",
        i,
        " must require a gradient, got one that does not");
  }
  if (!p.value().is_contiguous()) {
    fail(
        who_,
        "parameter ",
        i,
        " must be dense and row-major, got a view of shape ",
        p.shape(),
        " and strides ",
        p.value().strides());
  }
  visit_floating(who_, p.dtype(), [](auto) {});
}

void Optimizer::check_disjoint() const {
  struct Extent {
    const std::byte* begin;
    const std::byte* end;
    size_t parameter;
  };
  std::vector<Extent> extents;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Variable& p = parameters_[i];
    visit_floating(who_, p.dtype(), [&]<typename T>(TypeTag<T>) {
      const T* data = p.value().data<T>();
      if (p.numel() > 0) {
        extents.push_back(
            {reinterpret_cast<const std::byte*>(data),
             reinterpret_cast<const std::byte*>(data + p.numel()),
             i});
      }
    });
  }
  std::sort(extents.begin(), extents.end(), [](auto& a, auto& b) {
    return std::pair(a.begin, a.parameter) < std::pair(b.begin, b.parameter);
  });
  for (size_t k = 1; k < extents.size(); ++k) {
    if (extents[k].begin < extents[k - 1].end) {
      fail(
          who_,
          "every parameter must be listed once, got the same memory in "
          "parameters ",
          extents[k - 1].parameter,
          " and ",
          extents[k].parameter);
    }
  }
}

void Optimizer::check_option(bool ok, std::string_view must, double got) const {
  if (!ok) {
    fail(who_, must, ", got ", got);
  }
}

void Optimizer::check_group(size_t group) const {
  if (group >= groups_.size()) {
    fail(who_, "group must be below ", groups_.size(), ", got ", group);
  }
}

double Optimizer::lr(size_t group) const {
  check_group(group);
  return groups_[group].lr * groups_[group].lr_scale;
}

void Optimizer::set_lr(double lr) {
  check_option(is_rate(lr), "lr must be finite and >= 0", lr);
  for (Group& group : groups_) {
    group.lr = lr;
  }
}

void Optimizer::set_lr(size_t group, double lr) {
  check_group(group);
  check_option(is_rate(lr), "lr must be finite and >= 0", lr);
  groups_[group].lr = lr;
}

void Optimizer::zero_grad() const {
  for (const Variable& p : parameters_) {
    p.zero_grad();
  }
}

Optimizer::Update Optimizer::prepare(size_t parameter, const Tensor& grad) {
  Tensor value = parameters_[parameter].value();
  const size_t group = group_of_[parameter];
  State& state = states_[parameter];
  if (state.step == 0) {
    state.tensors.clear();
    const size_t count = state_names(group).size();
    for (size_t k = 0; k < count; ++k) {
      state.tensors.push_back(Tensor(value.shape(), value.dtype()).zero_());
    }
  }
  Update update{
      value.numel(),
      value.dtype(),
      group,
      state.step + 1,
      groups_[group].lr * groups_[group].lr_scale,
      nullptr,
      nullptr,
      {}};
  visit_floating(who_, value.dtype(), [&]<typename T>(TypeTag<T>) {
    update.value = value.mutable_data<T>();
    update.grad = grad.data<T>();
    for (size_t k = 0; k < state.tensors.size(); ++k) {
      update.states[k] = state.tensors[k].mutable_data<T>();
    }
  });
  return update;
}

void Optimizer::step() {
  std::vector<Update> updates;
  updates.reserve(parameters_.size());
  std::deque<Tensor> copies;  // of gradients that cannot be read as they are
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Variable& grad = parameters_[i].node()->grad;
    if (!grad.defined()) {
      continue;
    }
    const Tensor& x = grad.value();
    const bool readable =
        x.is_contiguous() && !x.shares_storage(parameters_[i].value());
    updates.push_back(
        prepare(i, readable ? x : copies.emplace_back(x.clone())));
  }
  update(updates);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    states_[i].step += parameters_[i].node()->grad.defined();
  }
  ++steps_;
}

StateDict Optimizer::state_dict() const {
  StateDict state;
  state["step"] = number(steps_);
  for (size_t k = 0; k < groups_.size(); ++k) {
    state["groups." + std::to_string(k) + ".lr"] = number(groups_[k].lr);
  }
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (states_[i].step == 0) {
      continue;
    }
    const std::string prefix = std::to_string(i) + ".";
    const std::vector<std::string> names = state_names(group_of_[i]);
    state[prefix + "step"] = number(states_[i].step);
    for (size_t k = 0; k < names.size(); ++k) {
      state[prefix + names[k]] = states_[i].tensors[k].clone();
    }
  }
  return state;
}

void Optimizer::load_state_dict(const StateDict& state) {
  Reader reader(state);
  const int64_t steps = reader.count("step", 0);
  std::vector<Group> groups = groups_;
  for (size_t k = 0; k < groups.size(); ++k) {
    groups[k].lr = reader.rate("groups." + std::to_string(k) + ".lr");
  }
  std::vector<State> states(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const std::string prefix = std::to_string(i) + ".";
    if (!reader.has_any(prefix)) {
      continue;  // it never had a gradient
    }
    const Tensor& value = parameters_[i].value();
    states[i].step = reader.count(prefix + "step", 1);
    for (const std::string& name : state_names(group_of_[i])) {
      states[i].tensors.push_back(
          reader.tensor(prefix + name, value.shape(), value.dtype()));
    }
  }
  reader.finish(who_);
  steps_ = steps;
  groups_ = std::move(groups);
  states_ = std::move(states);
}

}  // namespace heed
