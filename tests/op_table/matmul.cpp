#include "autograd/matmul.h"

#include "autograd/linear.h"
#include "tests/op_table.h"

namespace heed::op_table {
namespace {

/// x weight^T + bias, bias being the last of three inputs.
Arrays linear_reference(const Arrays& in) {
  const Array& x = in[0];
  const Array& weight = in[1];
  Dims shape = x.shape;
  shape[x.dim() - 1] = weight.size(0);
  return {build(Shape(shape), [&](Index index) {
    const int64_t out = index.back();
    double y = in.size() == 3 ? in[2]({out}) : 0;
    for (int64_t k = 0; k < weight.size(1); ++k) {
      index.back() = k;
      y += x(index) * weight({out, k});
    }
    return y;
  })};
}

}  // namespace

Rows matmul_rows() {
  return {
      row(
          "matmul(Variable, Variable) of matrices and batches",
          [](auto& in) { return matmul(in[0], in[1]); },
          [](const Arrays& in) -> Arrays { return {matmul(in[0], in[1])}; },
          {{{2, 3}, {3, 4}},
           {{2, 2, 3}, {3, 2}},
           {{2, 3}, {2, 3, 2}},
           {{2, 1, 2, 3}, {2, 3, 1}},
           {{1, 2, 2}, {3, 2, 1}},
           {{0, 3}, {3, 2}},
           {{2, 0}, {0, 3}},
           {{0, 2, 3}, {0, 3, 2}}})
          .refuses(
              {{{2, 3}, {2, 3}},
               {{2, 4, 3}, {3, 3, 2}},
               {{3}, {4, 2}},
               {{2, 3}, {2}},
               {{3}, {2}},
               {{}, {2, 2}}}),
      row(
          "matmul(Variable, Variable) of vectors",
          [](auto& in) { return matmul(in[0], in[1]); },
          [](const Arrays& in) -> Arrays { return {matmul(in[0], in[1])}; },
          {{{3}, {3}},
           {{3}, {3, 2}},
           {{2, 3}, {3}},
           {{3}, {2, 3, 2}},
           {{2, 2, 3}, {3}},
           {{0}, {0}},
           {{0}, {0, 2}}}),
      row("linear(Variable, Variable, Variable)",
          [](auto& in) { return linear(in[0], in[1], in[2]); },
          linear_reference,
          {{{2, 3}, {4, 3}, {4}},
           {{3}, {2, 3}, {2}},
           {{2, 2, 3}, {1, 3}, {1}},
           {{0, 3}, {2, 3}, {2}},
           {{2, 0}, {2, 0}, {2}}})
          .refuses(
              {{{2, 3}, {4, 2}, {4}},
               {{2, 3}, {4, 3}, {3}},
               {{2, 3}, {4, 3}, {1}},
               {{}, {4, 1}, {4}}}),
      row("linear(Variable, Variable, Variable) without bias",
          [](auto& in) { return linear(in[0], in[1]); },
          linear_reference,
          {{{2, 3}, {4, 3}},
           {{3}, {2, 3}},
           {{2, 2, 2}, {3, 2}},
           {{0, 3}, {2, 3}}})
          .refuses({{{2, 3}, {3}}, {{2, 3}, {3, 4}}}),
  };
}

}  // namespace heed::op_table
