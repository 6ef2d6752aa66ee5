#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "autograd/variable.h"
#include "tensor/tensor.h"
#include "tests/op_table/reference.h"

// One row for each public operation. op_table_test.cpp takes every row through
// the same tests; op_table_coverage_test.cpp fails when an operation in the
// headers has none.

namespace heed::op_table {

/// The body of a row: one generic lambda over a list of Variables or Tensors,
/// so that the Variable and the Tensor function are called the same way.
class Op {
 public:
  template <typename F>
  Op(F f)
      : on_variables_([f](const std::vector<Variable>& in) {
          return list<Variable>(f(in));
        }),
        on_tensors_([f](const std::vector<Tensor>& in) {
          return list<Tensor>(f(in));
        }) {}

  std::vector<Variable> operator()(const std::vector<Variable>& in) const {
    return on_variables_(in);
  }
  std::vector<Tensor> operator()(const std::vector<Tensor>& in) const {
    return on_tensors_(in);
  }

 private:
  static Tensor as(const Variable& y, Tensor*) { return y.value(); }
  static Tensor as(const Tensor& y, Tensor*) { return y; }
  static Variable as(const Variable& y, Variable*) { return y; }

  template <typename T, typename Result>
  static std::vector<T> list(const Result& result) {
    std::vector<T> all;
    if constexpr (
        std::same_as<Result, Tensor> || std::same_as<Result, Variable>) {
      all.push_back(as(result, static_cast<T*>(nullptr)));
    } else {
      for (const auto& y : result) {
        all.push_back(as(y, static_cast<T*>(nullptr)));
      }
    }
    return all;
  }

  std::function<std::vector<Variable>(const std::vector<Variable>&)>
      on_variables_;
  std::function<std::vector<Tensor>(const std::vector<Tensor>&)> on_tensors_;
};

/// Where the inputs' values lie. No two have the same absolute value, so that
/// nothing is a tie, and none is near a multiple of 0.1, so that kinks may be
/// there.
enum class Domain {
  real,      // of both signs, 0.3 or more from 0
  positive,  // at least 0.3
};

/// The shapes of a row's inputs.
using Shapes = std::vector<Shape>;

struct Row {
  /// The function as declared, without const, & and defaults: "exp(Variable)".
  /// Several rows may show one function; a note after the bracket tells them
  /// apart.
  std::string name;
  Op fn;
  Reference reference;
  std::vector<Shapes> inputs;

  /// Shapes that must be refused, two of them shown in the message.
  std::vector<Shapes> refused = {};
  /// Who speaks in error messages when it is not the function's name.
  std::string who = "";
  Domain domain = Domain::real;
  bool takes_integers = false;  ///< int64 inputs are computed exactly.
  double tolerance32 = 1e-5;    ///< Of float32 values, relative.

  // The same row with one of these changed.
  Row refuses(const std::vector<Shapes>& shapes) const {
    Row row = *this;
    row.refused = shapes;
    return row;
  }
  Row as(const std::string& name_in_messages) const {
    Row row = *this;
    row.who = name_in_messages;
    return row;
  }
  Row positive() const {
    Row row = *this;
    row.domain = Domain::positive;
    return row;
  }
  Row integers() const {
    Row row = *this;
    row.takes_integers = true;
    return row;
  }
};

inline Row row(
    const std::string& name,
    const Op& fn,
    const Reference& reference,
    const std::vector<Shapes>& inputs) {
  return {.name = name, .fn = fn, .reference = reference, .inputs = inputs};
}

using Rows = std::vector<Row>;

Rows elementwise_rows();
Rows reduction_rows();
Rows view_rows();
Rows matmul_rows();
Rows attention_rows();
Rows indexing_rows();
Rows dropout_rows();
Rows normalization_rows();
Rows loss_rows();

/// All rows.
const Rows& rows();

/// Ids for indexing: `shape` filled with 0, 3, 6, ... modulo `limit`.
Tensor ids(const Shape& shape, int64_t limit);
/// A bool tensor, true at every third place.
Tensor mask(const Shape& shape);

}  // namespace heed::op_table
