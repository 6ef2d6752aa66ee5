#include "autograd/attention.h"

#include <cmath>

#include "autograd/elementwise.h"
#include "autograd/joining.h"
#include "autograd/multi_head_attention.h"
#include "tensor/creation.h"
#include "tests/op_table.h"

namespace heed::op_table {
namespace {

// The output and the weights of attention over q, k and v, with all keys
// visible or those up to the query's own, counted from the end.
Arrays attention_of(
    const Array& q, const Array& k, const Array& v, bool is_causal) {
  const int64_t lead = k.size(2) - q.size(2);
  const auto score = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t d = 0; d < q.size(3); ++d) {
      sum += q({b, h, i, d}) * k({b, h, j, d});
    }
    return is_causal && j > i + lead
               ? 0
               : std::exp(sum / std::sqrt(static_cast<double>(q.size(3))));
  };
  const Array weights =
      build({q.size(0), q.size(1), q.size(2), k.size(2)}, [&](const Index& at) {
        double sum = 0;
        for (int64_t j = 0; j < k.size(2); ++j) {
          sum += score(at[0], at[1], at[2], j);
        }
        return sum == 0 ? 0 : score(at[0], at[1], at[2], at[3]) / sum;
      });
  const Array y =
      build({q.size(0), q.size(1), q.size(2), v.size(3)}, [&](const Index& at) {
        double sum = 0;
        for (int64_t j = 0; j < k.size(2); ++j) {
          sum +=
              weights({at[0], at[1], at[2], j}) * v({at[0], at[1], j, at[3]});
        }
        return sum;
      });
  return {y, weights};
}

Reference attention_reference(bool is_causal) {
  return [=](const Arrays& in) -> Arrays {
    return {attention_of(in[0], in[1], in[2], is_causal)[0]};
  };
}

Arrays weights_reference(const Arrays& in) {
  return {attention_of(in[0], in[1], in[1], false)[1]};
}

constexpr int64_t kHeads = 2;

// x [B, T, d_model] times part `part` of the weight, cut into heads.
Array project(
    const Array& x, const Array& weight, const Array* bias, int64_t part) {
  const int64_t d_model = x.size(2);
  const int64_t head_dim = d_model / kHeads;
  return build({x.size(0), kHeads, x.size(1), head_dim}, [&](const Index& at) {
    const int64_t row = part * d_model + at[1] * head_dim + at[3];
    double y = bias == nullptr ? 0 : (*bias)({row});
    for (int64_t d = 0; d < d_model; ++d) {
      y += x({at[0], at[2], d}) * weight({row, d});
    }
    return y;
  });
}

// With `sources` inputs (one, or a query and a memory, or all three) before the
// weight and the bias.
Reference multi_head_reference(size_t sources, bool bias, bool with_weights) {
  return [=](const Arrays& in) -> Arrays {
    const Array* const b = bias ? &in[sources + 1] : nullptr;
    Arrays heads;
    for (size_t part = 0; part < 3; ++part) {
      const Array& x = in[std::min(part, sources - 1)];
      heads.push_back(project(x, in[sources], b, static_cast<int64_t>(part)));
    }
    Arrays all = attention_of(heads[0], heads[1], heads[2], false);
    const int64_t head_dim = all[0].size(3);
    const Array y = build(in[0].shape, [&](const Index& at) {
      return all[0]({at[0], at[2] / head_dim, at[1], at[2] % head_dim});
    });
    return with_weights ? Arrays{y, all[1]} : Arrays{y};
  };
}

// k and v, one after the other.
Arrays keys_and_values(const Arrays& in) {
  const Array k = project(in[0], in[1], &in[2], 1);
  const Array v = project(in[0], in[1], &in[2], 2);
  const int64_t batch = k.size(0);
  return {
      build({2 * batch, k.size(1), k.size(2), k.size(3)}, [&](const Index& at) {
        const Index from = {at[0] % batch, at[1], at[2], at[3]};
        return at[0] < batch ? k(from) : v(from);
      })};
}

// Small enough for weights that are neither 0 nor 1.
constexpr double kSmall = 0.25;

template <typename X>
X small(const X& x) {
  return is_floating(x.dtype()) ? x * kSmall : x;
}

Reference of_small(const Reference& reference) {
  return [=](const Arrays& in) {
    Arrays inputs = in;
    for (Array& x : inputs) {
      for (double& value : x.data) {
        value *= kSmall;
      }
    }
    return reference(inputs);
  };
}

}  // namespace

Rows attention_rows() {
  const std::vector<Shapes> shapes = {
      {{2, 1, 3, 2}, {2, 1, 4, 2}, {2, 1, 4, 3}},
      {{1, 2, 1, 3}, {1, 2, 2, 3}, {1, 2, 2, 1}},
      {{1, 1, 3, 1}, {1, 1, 2, 1}, {1, 1, 2, 2}},
      {{0, 2, 3, 2}, {0, 2, 3, 2}, {0, 2, 3, 2}},
      {{1, 2, 0, 2}, {1, 2, 3, 2}, {1, 2, 3, 2}}};
  const std::vector<Shapes> refused = {
      {{2, 1, 3, 2}, {2, 1, 4, 3}, {2, 1, 4, 3}},
      {{2, 1, 3, 2}, {2, 1, 4, 2}, {2, 1, 3, 2}},
      {{2, 1, 3, 2}, {1, 1, 4, 2}, {1, 1, 4, 2}},
      {{2, 1, 3, 2}, {2, 2, 4, 2}, {2, 2, 4, 2}},
      {{1, 3, 2}, {1, 3, 2}, {1, 3, 2}}};
  const std::vector<Shapes> own = {
      {{2, 3, 4}, {12, 4}, {12}},
      {{1, 1, 2}, {6, 2}, {6}},
      {{0, 3, 2}, {6, 2}, {6}},
      {{2, 0, 2}, {6, 2}, {6}}};
  const std::string multi_head_name =
      "multi_head_attention(Variable, Variable, Variable, Variable, Variable, "
      "int64_t, AttentionOptions)";
  const std::string with_weights_name =
      "multi_head_attention_with_weights(Variable, Variable, Variable, "
      "Variable, Variable, int64_t, AttentionOptions)";
  return {
      row(
          "attention(Variable, Variable, Variable, AttentionOptions)",
          [](auto& in) { return attention(in[0], in[1], in[2]); },
          attention_reference(false),
          shapes)
          .refuses(refused),
      row("attention(Variable, Variable, Variable, AttentionOptions) causal",
          [](auto& in) {
            return attention(
                in[0], in[1], in[2], {.mask = {.is_causal = true}});
          },
          attention_reference(true),
          {{{1, 2, 3, 2}, {1, 2, 3, 2}, {1, 2, 3, 2}},
           {{1, 1, 2, 2}, {1, 1, 4, 2}, {1, 1, 4, 1}},
           {{1, 1, 3, 2}, {1, 1, 2, 2}, {1, 1, 2, 2}},
           {{1, 0, 3, 2}, {1, 0, 3, 2}, {1, 0, 3, 2}}}),
      row(
          "attention_with_weights(Variable, Variable, Variable, "
          "AttentionOptions) output",
          [](auto& in) {
            return attention_with_weights(in[0], in[1], in[2]).output;
          },
          attention_reference(false),
          shapes)
          .refuses(refused)
          .as("attention"),
      row("attention_with_weights(Variable, Variable, Variable, "
          "AttentionOptions) weights",
          [](auto& in) {
            return attention_with_weights(in[0], in[1], in[1]).weights;
          },
          weights_reference,
          {{{2, 1, 3, 2}, {2, 1, 4, 2}}, {{0, 1, 3, 2}, {0, 1, 4, 2}}})
          .as("attention"),
      row(
          multi_head_name + " of one input",
          [](auto& in) {
            const Variable x(small(in[0]));
            return multi_head_attention(
                x, x, x, small(in[1]), small(in[2]), kHeads);
          },
          of_small(multi_head_reference(1, true, false)),
          own)
          .refuses(
              {{{2, 3, 4}, {3, 4}, {12}},
               {{2, 3, 4}, {8, 4}, {12}},
               {{2, 3, 4}, {12, 3}, {12}},
               {{2, 3, 4}, {12, 4}, {4}},
               {{3, 4}, {12, 4}, {12}}}),
      row(multi_head_name + " over a memory",
          [](auto& in) {
            const Variable memory(small(in[1]));
            return multi_head_attention(
                small(in[0]),
                memory,
                memory,
                small(in[2]),
                small(in[3]),
                kHeads);
          },
          of_small(multi_head_reference(2, true, false)),
          {{{2, 3, 4}, {2, 2, 4}, {12, 4}, {12}},
           {{1, 2, 2}, {1, 3, 2}, {6, 2}, {6}},
           {{1, 0, 2}, {1, 3, 2}, {6, 2}, {6}}})
          .refuses(
              {{{2, 3, 4}, {1, 3, 4}, {12, 4}, {12}},
               {{2, 3, 4}, {2, 3, 2}, {12, 4}, {12}}}),
      row(multi_head_name + " of three inputs without bias",
          [](auto& in) {
            return multi_head_attention(
                small(in[0]),
                small(in[1]),
                small(in[2]),
                small(in[3]),
                {},
                kHeads);
          },
          of_small(multi_head_reference(3, false, false)),
          {{{2, 3, 4}, {2, 2, 4}, {2, 2, 4}, {12, 4}},
           {{0, 3, 2}, {0, 3, 2}, {0, 3, 2}, {6, 2}}})
          .refuses({{{2, 3, 4}, {2, 2, 4}, {2, 3, 4}, {12, 4}}}),
      row(
          "project_heads(Variable, Variable, Variable, int64_t, int64_t, "
          "int64_t)",
          [](auto& in) {
            const Variable x(in[0]);
            return cat(project_heads(x, in[1], in[2], kHeads, 1, 2), 0);
          },
          keys_and_values,
          own)
          .refuses({{{2, 3, 4}, {8, 4}, {12}}, {{3, 4}, {12, 4}, {12}}}),
      row(
          with_weights_name,
          [](auto& in) {
            const Variable x(small(in[0]));
            const AttentionResult y = multi_head_attention_with_weights(
                x, x, x, small(in[1]), small(in[2]), kHeads);
            return std::vector<Variable>{y.output, y.weights};
          },
          of_small(multi_head_reference(1, true, true)),
          own)
          .as("multi_head_attention"),
  };
}

}  // namespace heed::op_table
