#include "nn/module.h"

#include <cxxabi.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iomanip>
#include <mutex>
#include <ostream>
#include <set>
#include <sstream>
#include <typeinfo>
#include <unordered_set>

#include "autograd/leaf_count.h"
#include "autograd/node.h"
#include "tensor/hold_while_forking.h"

namespace heed {
namespace {

// Modules that no other module has registered: the roots, and the forgotten.
class Orphans {
 public:
  void insert(Module* module) {
    const std::lock_guard lock(mutex_);
    modules_.insert(module);
  }
  void erase(Module* module) {
    const std::lock_guard lock(mutex_);
    modules_.erase(module);
  }
  template <typename F>
  Module* find(const F& matches) {
    const std::lock_guard lock(mutex_);
    const auto it = std::find_if(modules_.begin(), modules_.end(), matches);
    return it == modules_.end() ? nullptr : *it;
  }
  std::mutex& mutex() { return mutex_; }

 private:
  std::mutex mutex_;
  std::set<Module*> modules_;
};

// Never destroyed: modules with static lifetime may outlive it.
Orphans& orphans() {
  static Orphans* const instance = [] {
    hold_while_forking<[]() -> std::mutex& { return orphans().mutex(); }>();
    return new Orphans;
  }();
  return *instance;
}

// Modules made so far. Threads share the count: an id of a thread is used again
// when the thread has ended.
std::atomic<int64_t> births = 0;

std::string class_name(const Module& module) {
  const std::string line = module.describe();
  return line.substr(0, line.find('('));
}

void print_tree(
    std::ostream& out, const Module& module, const std::string& indent) {
  if (module.children().empty()) {
    out << module.describe();
    return;
  }
  out << class_name(module) << "(\n";
  for (const Module::Child& child : module.children()) {
    out << indent << "  (" << child.name << "): ";
    print_tree(out, *child.module, indent + "  ");
    out << '\n';
  }
  out << indent << ')';
}

std::string with_separators(int64_t number) {
  std::string digits = std::to_string(number);
  for (int64_t i = static_cast<int64_t>(digits.size()) - 3; i > 0; i -= 3) {
    digits.insert(static_cast<size_t>(i), 1, ',');
  }
  return digits;
}

}  // namespace

std::string LoadReport::to_string() const {
  std::ostringstream out;
  const auto list = [&out](const char* title, const auto& names) {
    for (const std::string& name : names) {
      out << "\n  " << title << ": " << name;
    }
  };
  list("missing", missing);
  list("unexpected", unexpected);
  list("mismatched", mismatched);
  return out.str();
}

Module::Module()
    : thread_(std::this_thread::get_id()),
      birth_(++births),
      leaves_at_birth_(unregistered_leaves()),
      last_birth_(birth_) {
  orphans().insert(this);
}

Module::~Module() { orphans().erase(this); }

void Module::check_name(const std::string& name) const {
  if (name.empty() || name.find('.') != std::string::npos) {
    fail(
        class_name(*this),
        "a name must not be empty nor have a dot, got \"",
        name,
        "\"");
  }
  const bool taken =
      std::any_of(
          parameters_.begin(),
          parameters_.end(),
          [&](const auto& parameter) { return parameter.first == name; }) ||
      std::any_of(children_.begin(), children_.end(), [&](const Child& child) {
        return child.name == name;
      });
  if (taken) {
    fail(
        class_name(*this),
        "a name must be used once, got \"",
        name,
        "\" again");
  }
}

Variable Module::add_parameter(const std::string& name, const Tensor& initial) {
  check_name(name);
  Variable parameter(initial, /*requires_grad=*/true);
  register_leaf();
  parameters_.emplace_back(name, parameter);
  note_registration();
  return parameter;
}

void Module::tie_parameter(const std::string& name, const Variable& other) {
  for (auto& [own_name, parameter] : parameters_) {
    if (own_name != name) {
      continue;
    }
    if (!other.defined() || !other.is_leaf() || !other.requires_grad()) {
      fail(
          class_name(*this),
          "a tied parameter must be a leaf that requires a gradient, got "
          "another Variable for ",
          name);
    }
    if (parameter.shape() != other.shape() ||
        parameter.dtype() != other.dtype()) {
      fail(
          class_name(*this),
          "a tied parameter must have the same shape and dtype, got ",
          other.dtype(),
          " ",
          other.shape(),
          " for ",
          name,
          " ",
          parameter.dtype(),
          " ",
          parameter.shape());
    }
    parameter = other;
    return;
  }
  fail(class_name(*this), "there is no parameter \"", name, "\" to tie");
}

void Module::add_module(const std::string& name, Module& child) {
  adopt(name, child, /*prefixed=*/true);
  note_registration();
}

void Module::add_module_unprefixed(const std::string& name, Module& child) {
  adopt(name, child, /*prefixed=*/false);
  note_registration();
}

void Module::take_module(const std::string& name, Module& child) {
  adopt(name, child, /*prefixed=*/true);
}

void Module::adopt(const std::string& name, Module& child, bool prefixed) {
  check_name(name);
  if (child.holds(*this)) {
    fail(
        class_name(*this),
        "a module must not hold itself, got ",
        child.describe(),
        " as \"",
        name,
        "\"");
  }
  orphans().erase(&child);
  children_.push_back({name, &child, prefixed});
}

bool Module::holds(const Module& other) const {
  return this == &other ||
         std::any_of(
             children_.begin(), children_.end(), [&](const Child& child) {
               return child.module->holds(other);
             });
}

void Module::note_registration() {
  if (std::this_thread::get_id() == thread_) {
    last_birth_ = births;
    forgotten_leaves_ = unregistered_leaves() - leaves_at_birth_;
  }
}

void Module::check_registered() const {
  const Module* forgotten = orphans().find([this](const Module* module) {
    return module->thread_ == thread_ && module->birth_ > birth_ &&
           module->birth_ <= last_birth_;
  });
  if (forgotten != nullptr) {
    fail<std::logic_error>(
        class_name(*this),
        "every module it makes must be registered, got an unregistered ",
        forgotten->describe(),
        "; call add_module(name, member) in the constructor");
  }
  if (forgotten_leaves_ > 0) {
    fail<std::logic_error>(
        class_name(*this),
        "every leaf it makes must be registered, got ",
        forgotten_leaves_,
        " unregistered; make them by add_parameter(name, initial)");
  }
}

void Module::visit_parameters(
    const std::string& prefix, const Visit& visit) const {
  check_registered();
  for (const auto& [name, parameter] : parameters_) {
    visit(prefix + name, parameter);
  }
  for (const Child& child : children_) {
    child.module->visit_parameters(
        child.prefixed ? prefix + child.name + "." : prefix, visit);
  }
}

std::vector<std::pair<std::string, Variable>> Module::named_parameters() const {
  std::vector<std::pair<std::string, Variable>> all;
  std::unordered_set<const Node*> seen;
  visit_parameters("", [&](const std::string& name, const Variable& x) {
    if (seen.insert(x.node()).second) {
      all.emplace_back(name, x);
    }
  });
  return all;
}

std::vector<Variable> Module::parameters() const {
  std::vector<Variable> all;
  for (auto& [name, parameter] : named_parameters()) {
    all.push_back(std::move(parameter));
  }
  return all;
}

int64_t Module::num_parameters() const {
  int64_t count = 0;
  for (const Variable& parameter : parameters()) {
    count += parameter.numel();
  }
  return count;
}

StateDict Module::state_dict() const {
  StateDict state;
  visit_parameters("", [&](const std::string& name, const Variable& x) {
    if (!state.emplace(name, x.value()).second) {
      fail<std::logic_error>(
          class_name(*this), "a name must be used once, got ", name, " twice");
    }
  });
  return state;
}

LoadReport Module::load_state_dict(const StateDict& state, bool strict) {
  LoadReport report;
  std::vector<std::pair<Tensor, Tensor>> copies;  // to, from
  const StateDict own = state_dict();
  for (const auto& [name, to] : own) {
    const auto found = state.find(name);
    if (found == state.end()) {
      report.missing.push_back(name);
      continue;
    }
    const Tensor& from = found->second;
    if (!from.defined() || from.shape() != to.shape() ||
        from.dtype() != to.dtype()) {
      std::ostringstream line;
      line << name << " must be " << to.dtype() << ' ' << to.shape()
           << ", got ";
      if (from.defined()) {
        line << from.dtype() << ' ' << from.shape();
      } else {
        line << "an empty handle";
      }
      report.mismatched.push_back(line.str());
      continue;
    }
    copies.emplace_back(to, from);
  }
  for (const auto& [name, from] : state) {
    if (!own.contains(name)) {
      report.unexpected.push_back(name);
    }
  }
  if (strict && !report.ok()) {
    fail(
        "load_state_dict",
        "names, shapes and dtypes must fit ",
        class_name(*this),
        ", got",
        report.to_string());
  }
  for (auto& [to, from] : copies) {
    to.copy_(from);
  }
  return report;
}

void Module::train(bool on) {
  check_registered();
  training_ = on;
  for (const Child& child : children_) {
    child.module->train(on);
  }
}

void Module::zero_grad() const {
  for (const Variable& parameter : parameters()) {
    parameter.zero_grad();
  }
}

void Module::apply(const std::function<void(Module&)>& f) {
  check_registered();
  for (const Child& child : children_) {
    child.module->apply(f);
  }
  f(*this);
}

std::string Module::describe() const {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(typeid(*this).name(), nullptr, nullptr, &status),
      &std::free);
  std::string name = status == 0 ? demangled.get() : typeid(*this).name();
  name = name.substr(0, name.find('<'));  // no template arguments
  const size_t scope = name.rfind(':');
  return (scope == std::string::npos ? name : name.substr(scope + 1)) + "()";
}

std::string Module::summary() const {
  struct Row {
    std::string name, shape, count;
  };
  std::vector<Row> rows = {{"parameter", "shape", "count"}};
  std::map<const Node*, std::string> first_names;
  int64_t total = 0;
  visit_parameters("", [&](const std::string& name, const Variable& x) {
    std::ostringstream shape;
    shape << x.shape();
    const auto [first, is_new] = first_names.emplace(x.node(), name);
    total += is_new ? x.numel() : 0;
    rows.push_back(
        {name,
         shape.str(),
         is_new ? with_separators(x.numel()) : "tied to " + first->second});
  });
  rows.push_back({"total", "", with_separators(total)});
  size_t name_width = 0;
  size_t shape_width = 0;
  size_t count_width = 0;
  for (const Row& row : rows) {
    name_width = std::max(name_width, row.name.size());
    shape_width = std::max(shape_width, row.shape.size());
    count_width = std::max(count_width, row.count.size());
  }
  const std::string line(name_width + shape_width + count_width + 4, '-');
  std::ostringstream out;
  out << class_name(*this) << '\n';
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i == 1 || i + 1 == rows.size()) {
      out << line << '\n';
    }
    out << std::left << std::setw(static_cast<int>(name_width)) << rows[i].name
        << "  " << std::setw(static_cast<int>(shape_width)) << rows[i].shape
        << "  " << std::right << std::setw(static_cast<int>(count_width))
        << rows[i].count << '\n';
  }
  return out.str();
}

std::ostream& operator<<(std::ostream& out, const Module& module) {
  print_tree(out, module, "");
  return out;
}

}  // namespace heed
