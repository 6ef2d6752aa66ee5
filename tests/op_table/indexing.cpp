#include "autograd/indexing.h"

#include <algorithm>

#include "autograd/embedding.h"
#include "autograd/packing.h"
#include "autograd/topk.h"
#include "autograd/triangular.h"
#include "tensor/creation.h"
#include "tensor/generator.h"
#include "tests/op_table.h"

namespace heed::op_table {
namespace {

/// What ids() gives at place i.
int64_t id_at(int64_t i, int64_t limit) { return 3 * i % limit; }

/// x where keep(column - row), else 0.
Reference triangle(bool (*keep)(int64_t)) {
  return [keep](const Arrays& in) -> Arrays {
    return {build(in[0].shape, [&](const Index& i) {
      return keep(i[i.size() - 1] - i[i.size() - 2]) ? in[0](i) : 0.0;
    })};
  };
}

/// The rows of a weight [V, d] that ids({2, 2}, V) names.
Arrays embedding_reference(const Arrays& in) {
  const Array& weight = in[0];
  return {build({2, 2, weight.size(1)}, [&](const Index& i) {
    return weight({id_at(2 * i[0] + i[1], weight.size(0)), i[2]});
  })};
}

/// Of two sequences of three places, the first of which is padding.
Packing packing() { return Packing(mask({2, 3})); }

/// x's shape with other sizes of the first two dimensions.
Shape token_shape(const Array& x, int64_t rows, int64_t columns) {
  Dims sizes = x.shape;
  sizes[0] = rows;
  sizes[1] = columns;
  return Shape(sizes);
}

/// The two largest or smallest of each row, from the most extreme on.
template <bool largest>
Arrays topk_reference(const Arrays& in) {
  const Array& x = in[0];
  return {build({x.size(0), 2}, [&](const Index& i) {
    std::vector<double> row;
    for (int64_t k = 0; k < x.size(1); ++k) {
      row.push_back(largest ? -x({i[0], k}) : x({i[0], k}));
    }
    std::sort(row.begin(), row.end());
    const double found = row[static_cast<size_t>(i[1])];
    return largest ? -found : found;
  })};
}

}  // namespace

Rows indexing_rows() {
  const std::vector<Shapes> matrices = {
      {{3, 4}}, {{4, 2}}, {{2, 3, 3}}, {{0, 3}}, {{2, 0}}};
  const std::vector<Shapes> any = {{{3, 4}}, {{}}, {{2, 2, 2}}, {{0, 3}}};
  return {
      row(
          "gather(Variable, int64_t, Tensor) in the last dim",
          [](auto& in) {
            const Shape shape = {in[0].size(0), 6};
            return gather(in[0], -1, ids(shape, in[0].size(1)));
          },
          [](const Arrays& in) -> Arrays {
            return {build({in[0].size(0), 6}, [&](const Index& i) {
              return in[0]({i[0], id_at(6 * i[0] + i[1], in[0].size(1))});
            })};
          },
          {{{2, 4}}, {{3, 2}}, {{0, 4}}})
          .integers(),
      row(
          "gather(Variable, int64_t, Tensor) in dim 0, not everywhere",
          [](auto& in) {
            return gather(in[0], 0, ids({3, 2}, in[0].size(0)));
          },
          [](const Arrays& in) -> Arrays {
            return {build({3, 2}, [&](const Index& i) {
              return in[0]({id_at(2 * i[0] + i[1], in[0].size(0)), i[1]});
            })};
          },
          {{{2, 4}}, {{5, 2}}})
          .refuses({{{2, 1}}, {{3, 0}}, {{4}}})
          .integers(),
      row(
          "index_select(Variable, int64_t, Tensor)",
          [](auto& in) {
            return index_select(in[0], -1, ids({4}, in[0].size(-1)));
          },
          [](const Arrays& in) -> Arrays {
            return {build({in[0].size(0), 4}, [&](const Index& i) {
              return in[0]({i[0], id_at(i[1], in[0].size(1))});
            })};
          },
          {{{2, 5}}, {{2, 3}}, {{1, 2}}, {{0, 2}}})
          .integers(),
      row(
          "scatter_add(Variable, int64_t, Tensor, Variable)",
          [](auto& in) {
            const Tensor index = ids(in[1].shape(), in[0].size(1));
            return scatter_add(in[0], 1, index, in[1]);
          },
          [](const Arrays& in) -> Arrays {
            const Array& src = in[1];
            return {build(in[0].shape, [&](const Index& i) {
              double y = in[0](i);
              for (int64_t k = 0; k < src.size(1) && i[0] < src.size(0); ++k) {
                const int64_t place = i[0] * src.size(1) + k;
                y += id_at(place, in[0].size(1)) == i[1] ? src({i[0], k}) : 0;
              }
              return y;
            })};
          },
          {{{2, 4}, {2, 6}},
           {{3, 2}, {1, 5}},
           {{2, 2}, {2, 0}},
           {{0, 4}, {0, 2}}})
          .refuses({{{2, 4}, {3, 4}}, {{2, 4}, {2}}})
          .integers(),
      row(
          "tril(Variable, int64_t)",
          [](auto& in) { return tril(in[0]); },
          triangle([](int64_t diagonal) { return diagonal <= 0; }),
          matrices)
          .refuses({{{3}}, {{}}})
          .integers(),
      row(
          "tril(Variable, int64_t) below the diagonal",
          [](auto& in) { return tril(in[0], -1); },
          triangle([](int64_t diagonal) { return diagonal <= -1; }),
          matrices)
          .integers(),
      row(
          "triu(Variable, int64_t)",
          [](auto& in) { return triu(in[0]); },
          triangle([](int64_t diagonal) { return diagonal >= 0; }),
          matrices)
          .refuses({{{3}}})
          .integers(),
      row(
          "triu(Variable, int64_t) above the diagonal",
          [](auto& in) { return triu(in[0], 1); },
          triangle([](int64_t diagonal) { return diagonal >= 1; }),
          matrices)
          .integers(),
      row("embedding(Variable, Tensor)",
          [](auto& in) {
            return embedding(in[0], ids({2, 2}, in[0].size(0)));
          },
          embedding_reference,
          {{{5, 3}}, {{2, 4}}, {{3, 0}}})
          .refuses({{{3}}, {{3, 2, 2}}})
          .integers(),
      row("embedding(Variable, Tensor, std::optional<int64_t>) unused padding",
          [](auto& in) {
            return embedding(in[0], ids({2, 2}, in[0].size(0)), 2);
          },
          embedding_reference,
          {{{5, 3}}, {{6, 1}}, {{5, 0}}})
          .integers(),
      row(
          "pack(Variable, Packing)",
          [](auto& in) { return pack(in[0], packing()); },
          [](const Arrays& in) -> Arrays {
            return {build(token_shape(in[0], 1, 4), [&](const Index& i) {
              Index from = i;  // tokens 1 and 2 of both sequences
              from[0] = i[1] / 2;
              from[1] = i[1] % 2 + 1;
              return in[0](from);
            })};
          },
          {{{2, 3, 4}}, {{2, 3}}, {{2, 3, 1, 2}}, {{2, 3, 0}}})
          .integers()
          .refuses({{{3, 2, 4}}, {{2, 4}}, {{6}}}),
      row(
          "unpack(Variable, Packing)",
          [](auto& in) { return unpack(in[0], packing()); },
          [](const Arrays& in) -> Arrays {
            return {build(token_shape(in[0], 2, 3), [&](const Index& i) {
              Index from = i;
              from[0] = 0;
              from[1] = 2 * i[0] + i[1] - 1;
              return i[1] == 0 ? 0 : in[0](from);
            })};
          },
          {{{1, 4, 3}}, {{1, 4}}, {{1, 4, 2, 1}}, {{1, 4, 0}}})
          .integers()
          .refuses({{{1, 3, 3}}, {{2, 4}}, {{4}}}),
      row("topk(Variable, int64_t, int64_t, bool) largest, last dim",
          [](auto& in) { return topk(in[0], 2).values; },
          topk_reference<true>,
          {{{2, 4}}, {{3, 2}}, {{0, 3}}})
          .integers(),
      row(
          "topk(Variable, int64_t, int64_t, bool) the best of few",
          [](auto& in) { return topk(in[0], 1).values; },
          [](const Arrays& in) -> Arrays { return {in[0]}; },
          {{{}}, {{1}}, {{3, 1}}, {{0, 1}}})
          .integers(),
      row("topk(Variable, int64_t, int64_t, bool) smallest, dim 0",
          [](auto& in) {
            return topk(in[0].transpose(0, 1), 2, 0, false)
                .values.transpose(0, 1);
          },
          topk_reference<false>,
          {{{2, 4}}, {{3, 2}}, {{0, 3}}})
          .integers(),
  };
}

}  // namespace heed::op_table
