#include "autograd/dropout.h"

#include "autograd/record.h"

namespace heed {
namespace {

// With a given mask dropout is linear, and its own adjoint.
Variable dropout_gate(const Variable& dy, double p, const Tensor& kept) {
  return record(
      "dropout_backward",
      dropout_backward(dy.value(), p, kept),
      {{dy, [p, kept](const Variable& ddx) {
          return dropout_gate(ddx, p, kept);
        }}});
}

}  // namespace

Variable dropout(const Variable& x, double p, Generator& generator) {
  check_dropout("dropout", x.value(), p);
  return p == 0 ? x : dropout(x, p, generator.reserve(x.numel()));
}

Variable dropout(const Variable& x, double p, const GeneratorState& start) {
  check_dropout("dropout", x.value(), p);
  if (p == 0) {
    return x;
  }
  const auto [y, kept] = dropout_forward(x.value(), p, start);
  return record("dropout", y, {{x, [p, kept = kept](const Variable& dy) {
                                  return dropout_gate(dy, p, kept);
                                }}});
}

Variable add_dropout(
    const Variable& x, const Variable& branch, const DropoutDraw& draw) {
  return record(
      "add_dropout",
      add_dropout(x.value(), branch.value(), draw),
      {
          {x, [](const Variable& dy) { return dy; }},
          {branch,
           [draw](const Variable& dy) {
             return dropout(dy, draw.p, draw.start);
           }},
      });
}

}  // namespace heed
