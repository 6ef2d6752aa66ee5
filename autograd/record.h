#pragma once

#include <initializer_list>
#include <utility>

#include "autograd/rule.h"
#include "autograd/saved.h"
#include "autograd/variable.h"

namespace heed {

/// An input of an operation and the rule that leads back to it, for a call of
/// record().
struct Input {
  template <typename F>
  Input(const Variable& variable, F&& rule)
      : variable(variable), rule(std::forward<F>(rule)) {}
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  const Variable& variable;
  RuleSource<Variable> rule;
};

/// The result of an operation named `name` (a literal), with its derivative:
///
///     Variable operator*(const Variable& a, const Variable& b) {
///       return record("mul", a.value() * b.value(), {
///           {a, [b = saved(b)](const Variable& dy) { return dy * b; }},
///           {b, [a = saved(a)](const Variable& dy) { return dy * a; }},
///       });
///     }
///
/// A rule takes the gradient dy of the result, and the result y too when it has
/// a second parameter; it must not capture the result itself. It returns the
/// gradient of its input, undefined for none, which may still be broadcast: the
/// engine sums it to the input's shape, adds it up and checks it. Written in
/// operations on Variables it can be differentiated again; a faster way may be
/// taken while !grad_enabled().
///
/// Rules whose input needs no gradient are dropped here, all of them while
/// recording is off. This is how users write operations of their own, too.
/// Throws std::invalid_argument for an undefined value, an empty rule, and when
/// a gradient would have to flow through an integer or bool result.
Variable record(
    const char* name, Tensor value, std::initializer_list<Input> inputs);

/// As above with one rule that returns the gradients of all inputs in order, an
/// undefined one standing for zero. Undefined inputs are allowed; what is
/// returned for them is ignored.
Variable record(
    const char* name,
    Tensor value,
    const std::vector<Variable>& inputs,
    const RuleSource<std::vector<Variable>>& rule);

}  // namespace heed
