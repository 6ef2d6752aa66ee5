#include "autograd/joining.h"
#include "tests/op_table.h"

namespace heed::op_table {
namespace {

/// x's element at from(index) for each index of shape(x).
Reference moved(
    Shape (*shape)(const Array& x), Index (*from)(const Index& index)) {
  return [=](const Arrays& in) -> Arrays {
    const Array& x = in[0];
    return {
        build(shape(x), [&](const Index& index) { return x(from(index)); })};
  };
}

/// The same numbers in the same order.
Reference reshaped(Shape (*shape)(const Array& x)) {
  return [=](const Arrays& in) -> Arrays {
    return {Array{shape(in[0]), in[0].data}};
  };
}

/// The parts of x between consecutive `bounds` of dimension `dim`.
Reference parts(int64_t dim, const std::vector<int64_t>& bounds) {
  return [=](const Arrays& in) {
    Arrays all;
    for (size_t k = 1; k < bounds.size(); ++k) {
      Dims sizes = in[0].shape;
      sizes[dim] = bounds[k] - bounds[k - 1];
      all.push_back(build(Shape(sizes), [&](Index index) {
        index[static_cast<size_t>(dim)] += bounds[k - 1];
        return in[0](index);
      }));
    }
    return all;
  };
}

}  // namespace

Rows view_rows() {
  const std::vector<Shapes> matrices = {{{2, 3}}, {{4, 1}}, {{0, 3}}};
  const std::vector<Shapes> boxes = {{{2, 3, 4}}, {{1, 2, 1}}, {{2, 0, 3}}};
  Rows rows = {
      row("Variable::reshape(Dims)",
          [](auto& in) {
            return in[0].reshape({-1, 2});
          },
          reshaped([](auto& x) {
            return Shape{x.shape.numel() / 2, 2};
          }),
          {{{2, 3, 2}}, {{4}}, {{0, 4}}})
          .refuses({{{3}}, {{3, 5}}}),
      row(
          "Variable::flatten(int64_t, int64_t)",
          [](auto& in) { return in[0].flatten(-2); },
          reshaped([](auto& x) {
            return Shape{x.size(0), x.size(1) * x.size(2)};
          }),
          boxes),
      row(
          "Variable::transpose(int64_t, int64_t)",
          [](auto& in) { return in[0].transpose(0, -1); },
          moved(
              [](auto& x) {
                return Shape{x.size(1), x.size(0)};
              },
              [](auto& i) -> Index {
                return {i[1], i[0]};
              }),
          matrices),
      row(
          "Variable::permute(Dims)",
          [](auto& in) {
            return in[0].permute({1, -1, 0});
          },
          moved(
              [](auto& x) {
                return Shape{x.size(1), x.size(2), x.size(0)};
              },
              [](auto& i) -> Index {
                return {i[2], i[0], i[1]};
              }),
          boxes)
          .refuses({{{2, 3}}}),
      row("Variable::slice(int64_t, int64_t, int64_t, int64_t)",
          [](auto& in) { return in[0].slice(1, 1, -1); },
          moved(
              [](auto& x) {
                return Shape{x.size(0), x.size(1) - 2};
              },
              [](auto& i) -> Index {
                return {i[0], i[1] + 1};
              }),
          {{{2, 5}}, {{3, 3}}, {{3, 2}}, {{0, 3}}}),
      row("Variable::slice(int64_t, int64_t, int64_t, int64_t) with a step",
          [](auto& in) { return in[0].slice(0, -4, 100, 2); },
          moved(
              [](auto& x) {
                return Shape{2, x.size(1)};
              },
              [](auto& i) -> Index {
                return {1 + 2 * i[0], i[1]};
              }),
          {{{5, 2}}, {{5, 1}}, {{5, 0}}}),
      row("Variable::select(int64_t, int64_t)",
          [](auto& in) { return in[0].select(1, -1); },
          moved(
              [](auto& x) {
                return Shape{x.size(0), x.size(2)};
              },
              [](auto& i) -> Index {
                return {i[0], 1, i[1]};
              }),
          {{{2, 2, 3}}, {{1, 2, 1}}, {{0, 2, 3}}}),
      row("Variable::operator[](int64_t)",
          [](auto& in) { return in[0][1]; },
          moved(
              [](auto& x) { return Shape{x.size(1)}; },
              [](auto& i) -> Index {
                return {1, i[0]};
              }),
          {{{2, 3}}, {{3, 1}}, {{2, 0}}})
          .as("select"),
      row(
          "Variable::expand(Dims)",
          [](auto& in) {
            return in[0].expand({2, 3, -1});
          },
          [](const Arrays& in) -> Arrays {
            return {build({2, 3, in[0].size(-1)}, [&](const Index& index) {
              return broadcast_at(in[0], index);
            })};
          },
          {{{1, 4}}, {{2}}, {{2, 1, 2}}, {{2, 3, 1}}, {{1, 0}}})
          .refuses({{{2, 2}}, {{3, 1, 2}}}),
      row("Variable::squeeze(int64_t)",
          [](auto& in) { return in[0].squeeze(-2); },
          reshaped([](auto& x) {
            return Shape{x.size(0), x.size(2)};
          }),
          {{{2, 1, 3}}, {{1, 1, 2}}, {{0, 1, 3}}}),
      row("Variable::squeeze()",
          [](auto& in) { return in[0].squeeze(); },
          reshaped([](auto& x) {
            return Shape{x.size(1), x.size(3)};
          }),
          {{{1, 2, 1, 3}}, {{1, 0, 1, 3}}}),
      row(
          "Variable::unsqueeze(int64_t)",
          [](auto& in) { return in[0].unsqueeze(-1); },
          reshaped([](auto& x) {
            return Shape{x.size(0), x.size(1), 1};
          }),
          matrices),
      row(
          "Variable::contiguous()",
          [](auto& in) {
            return in[0].unsqueeze(0).expand({2, -1, -1}).contiguous();
          },
          moved(
              [](auto& x) {
                return Shape{2, x.size(0), x.size(1)};
              },
              [](auto& i) -> Index {
                return {i[1], i[2]};
              }),
          matrices),
      row(
          "cat(std::vector<Variable>, int64_t)",
          [](auto& in) { return cat(in, 1); },
          [](const Arrays& in) -> Arrays {
            const int64_t width = in[0].size(1);
            return {build(
                {in[0].size(0), width + in[1].size(1)}, [&](const Index& i) {
                  return i[1] < width ? in[0](i) : in[1]({i[0], i[1] - width});
                })};
          },
          {{{2, 3}, {2, 1}},
           {{2, 0}, {2, 3}},
           {{1, 1}, {1, 0}},
           {{0, 2}, {0, 1}}})
          .refuses({{{2, 3}, {3, 3}}, {{2, 3}, {2}}}),
      row(
          "stack(std::vector<Variable>, int64_t)",
          [](auto& in) { return stack(in, -1); },
          [](const Arrays& in) -> Arrays {
            return {build({in[0].size(0), 3}, [&](const Index& i) {
              return in[static_cast<size_t>(i[1])]({i[0]});
            })};
          },
          {{{2}, {2}, {2}}, {{1}, {1}, {1}}, {{0}, {0}, {0}}})
          .refuses({{{2}, {2}, {3}}, {{2}, {2, 1}, {2}}}),
      row("split(Variable, int64_t, int64_t)",
          [](auto& in) { return split(in[0], 2, 1); },
          parts(1, {0, 2, 4, 5}),
          {{{2, 5}}, {{1, 5}}, {{0, 5}}}),
      row("split(Variable, std::vector<int64_t>, int64_t)",
          [](auto& in) {
            return split(in[0], std::vector<int64_t>{1, 0, 3}, -1);
          },
          parts(1, {0, 1, 1, 4}),
          {{{2, 4}}, {{0, 4}}})
          .refuses({{{2, 5}}}),
      row("chunk(Variable, int64_t, int64_t)",
          [](auto& in) { return chunk(in[0], 3); },
          parts(0, {0, 2, 4, 5}),
          {{{5, 2}}, {{5}}, {{5, 0}}}),
  };
  for (Row& row : rows) {
    row.takes_integers = true;
  }
  return rows;
}

}  // namespace heed::op_table
