#include "autograd/dropout.h"

#include "autograd/record.h"

namespace heed {

Variable dropout(const Variable& x, double p, Generator& generator) {
  check_dropout("dropout", x.value(), p);
  return p == 0 ? x : dropout(x, p, generator.reserve(x.numel()));
}

Variable dropout(const Variable& x, double p, const GeneratorState& start) {
  check_dropout("dropout", x.value(), p);
  if (p == 0) {
    return x;
  }
  // With a given mask dropout is linear and its own adjoint.
  return record(
      "dropout",
      dropout(x.value(), p, start),
      {{x, [p, start](const Variable& dy) { return dropout(dy, p, start); }}});
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
