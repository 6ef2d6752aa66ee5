#include <cmath>

#include "autograd/layer_norm.h"
#include "autograd/residual_norm.h"
#include "autograd/softmax.h"
#include "tensor/creation.h"
#include "tests/op_table.h"

namespace heed::op_table {
namespace {

using Values = std::vector<double>;

Values softmax_of(const Values& x) {
  double sum = 0;
  for (const double v : x) {
    sum += std::exp(v);
  }
  Values y;
  for (const double v : x) {
    y.push_back(std::exp(v) / sum);
  }
  return y;
}

Values log_softmax_of(const Values& x) {
  Values y = softmax_of(x);
  for (double& v : y) {
    v = std::log(v);
  }
  return y;
}

/// The last dimensions, as many as `normalized` has, as one line each.
Reference layer_norm_reference(
    int64_t normalized_dims, bool weight, bool bias) {
  return [=](const Arrays& in) -> Arrays {
    const Array& x = in[0];
    Array y = x;
    size_t width = 1;
    for (int64_t i = x.dim() - normalized_dims; i < x.dim(); ++i) {
      width *= static_cast<size_t>(x.shape[i]);
    }
    for (size_t start = 0; start < x.data.size(); start += width) {
      double mean = 0;
      double var = 0;
      for (size_t i = 0; i < width; ++i) {
        mean += x.data[start + i] / static_cast<double>(width);
      }
      for (size_t i = 0; i < width; ++i) {
        var +=
            std::pow(x.data[start + i] - mean, 2) / static_cast<double>(width);
      }
      for (size_t i = 0; i < width; ++i) {
        double& v = y.data[start + i];
        v = (v - mean) / std::sqrt(var + 1e-5);
        v *= weight ? in[1].data[i] : 1;
        v += bias ? in.back().data[i] : 0;
      }
    }
    return {y};
  };
}

const GeneratorState kDraw = Generator(6).state();

Arrays residual_norm_reference(const Arrays& in) {
  const Tensor scale = dropout(ones(in[1].shape, kFloat64), 0.4, kDraw);
  const Array kept{in[1].shape, scale.to_vector<double>()};
  const Array sum = build(in[0].shape, [&](const Index& i) {
    return in[0](i) + in[1](i) * kept(i);
  });
  return layer_norm_reference(in[2].dim(), true, true)({sum, in[2], in[3]});
}

}  // namespace

Rows normalization_rows() {
  const std::vector<Shapes> lines = {
      {{2, 3}}, {{4}}, {{2, 2, 3}}, {{0, 3}}, {{2, 0}}};
  const std::vector<Shapes> middle = {{{2, 3, 2}}, {{1, 4, 1}}, {{2, 0, 3}}};
  return {
      row(
          "softmax(Variable, int64_t) along the last dim",
          [](auto& in) { return softmax(in[0], -1); },
          along(-1, softmax_of),
          lines),
      row(
          "softmax(Variable, int64_t) along dim 1 of three",
          [](auto& in) { return softmax(in[0], 1); },
          along(1, softmax_of),
          middle),
      row(
          "log_softmax(Variable, int64_t) along the last dim",
          [](auto& in) { return log_softmax(in[0], -1); },
          along(-1, log_softmax_of),
          lines),
      row(
          "log_softmax(Variable, int64_t) along dim 1 of three",
          [](auto& in) { return log_softmax(in[0], 1); },
          along(1, log_softmax_of),
          middle),
      row("layer_norm(Variable, Variable, Variable, double)",
          [](auto& in) { return layer_norm(in[0], in[1], in[2]); },
          layer_norm_reference(1, true, true),
          {{{2, 3}, {3}, {3}},
           {{5}, {5}, {5}},
           {{2, 2, 4}, {4}, {4}},
           {{0, 4}, {4}, {4}}})
          .refuses(
              {{{2, 3}, {4}, {4}},
               {{2, 3}, {1}, {3}},
               {{2, 3}, {3}, {1}},
               {{2, 3}, {2, 3}, {3}}}),
      row("layer_norm(Variable, Variable, Variable, double) over two dims",
          [](auto& in) { return layer_norm(in[0], in[1], in[2], 1e-5); },
          layer_norm_reference(2, true, true),
          {{{2, 2, 3}, {2, 3}, {2, 3}}, {{0, 2, 2}, {2, 2}, {2, 2}}}),
      row("layer_norm(Variable, Variable, Variable, double) without bias",
          [](auto& in) { return layer_norm(in[0], in[1], {}); },
          layer_norm_reference(1, true, false),
          {{{2, 4}, {4}}, {{0, 3}, {3}}}),
      row("residual_norm(Variable, Variable, DropoutDraw, Shape, Variable, "
          "Variable, double)",
          [](auto& in) {
            return residual_norm(
                in[0], in[1], {0.4, kDraw}, in[2].shape(), in[2], in[3]);
          },
          residual_norm_reference,
          {{{2, 3}, {2, 3}, {3}, {3}},
           {{5}, {5}, {5}, {5}},
           {{2, 2, 4}, {2, 2, 4}, {4}, {4}},
           {{2, 2, 3}, {2, 2, 3}, {2, 3}, {2, 3}},
           {{0, 4}, {0, 4}, {4}, {4}}})
          .refuses(
              {{{2, 3}, {2, 3}, {4}, {4}},
               {{2, 3}, {3}, {3}, {3}},
               {{2, 3}, {2, 3}, {3}, {1}}}),
      row(
          "residual_norm(Variable, Variable, DropoutDraw, Shape, Variable, "
          "Variable, double) plain, of nothing dropped",
          [](auto& in) {
            return residual_norm(
                in[0], in[1], {}, Shape{in[0].size(-1)}, {}, {});
          },
          [](const Arrays& in) {
            return layer_norm_reference(
                1, false, false)({build(in[0].shape, [&](const Index& i) {
              return in[0](i) + in[1](i);
            })});
          },
          {{{2, 4}, {2, 4}}, {{2, 2, 3}, {2, 2, 3}}, {{0, 3}, {0, 3}}}),
      row("layer_norm(Variable, Shape, Variable, Variable, double) plain",
          [](auto& in) {
            return layer_norm(in[0], Shape{in[0].size(-1)}, {}, {});
          },
          layer_norm_reference(1, false, false),
          {{{2, 4}}, {{2, 2, 3}}, {{0, 3}}}),
      row("layer_norm(Variable, Shape, Variable, Variable, double) bias alone",
          [](auto& in) {
            return layer_norm(in[0], Shape{in[0].size(-1)}, {}, in[1]);
          },
          layer_norm_reference(1, false, true),
          {{{2, 4}, {4}}, {{0, 3}, {3}}})
          .refuses({{{2, 3}, {2}}}),
  };
}

}  // namespace heed::op_table
