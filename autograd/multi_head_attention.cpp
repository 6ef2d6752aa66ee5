#include "autograd/multi_head_attention.h"

#include <array>
#include <vector>

#include "autograd/composed_gradients.h"
#include "autograd/grad_mode.h"
#include "autograd/linear.h"
#include "autograd/record.h"
#include "autograd/saved.h"
#include "autograd/saved_attention_options.h"
#include "tensor/matmul.h"
#include "tensor/reduction.h"

namespace heed {
namespace {

/// A product of one input with the rows of the weight that belong to `count` of
/// q, k and v, from the `first` (0, 1 or 2) on.
struct Projection {
  Variable source;  // [B, T, d_model]
  int64_t first;
  int64_t count;
};

using Projections = std::vector<Projection>;

/// As few products as will do.
Projections projections_of(
    const Variable& query, const Variable& key, const Variable& value) {
  if (key.node() != value.node()) {
    return {{query, 0, 1}, {key, 1, 1}, {value, 2, 1}};
  }
  if (query.node() != key.node()) {
    return {{query, 0, 1}, {key, 1, 2}};
  }
  return {{query, 0, 3}};
}

/// The rows of the weight, or elements of the bias, that belong to p.
template <typename X>
X rows_of(const X& x, const Projection& p) {
  const int64_t d_model = x.size(0) / 3;
  return p.count == 3
             ? x
             : x.slice(0, p.first * d_model, (p.first + p.count) * d_model);
}

/// What p makes of `source`, [B, T, count * d_model].
template <typename X>
X project(
    const X& source, const Projection& p, const X& weight, const X& bias) {
  return linear(
      source, rows_of(weight, p), bias.defined() ? rows_of(bias, p) : bias);
}

/// All rows of x [B, T, width] below each other.
Tensor all_rows(const Tensor& x) {
  return x.reshape({x.size(0) * x.size(1), x.size(2)});
}

/// q, k and v, [B, num_heads, T, head_dim].
template <typename X>
using Heads = std::array<X, 3>;

/// Part `part` of x [B, T, parts * d_model], cut into heads: a view.
template <typename X>
X cut_heads(const X& x, int64_t part, int64_t d_model, int64_t num_heads) {
  return x
      .slice(2, part * d_model, (part + 1) * d_model)  // [B, T, d_model]
      .reshape({x.size(0), x.size(1), num_heads, d_model / num_heads})
      .transpose(1, 2);  // [B, num_heads, T, head_dim]
}

/// Views of all that is projected, [B, T, count * d_model] each.
template <typename X>
Heads<X> heads_of(
    const Projections& projections,
    const std::vector<X>& projected,
    int64_t num_heads) {
  Heads<X> heads;
  for (size_t i = 0; i < projections.size(); ++i) {
    const auto& [source, first, count] = projections[i];
    const int64_t d_model = projected[i].size(2) / count;
    for (int64_t part = 0; part < count; ++part) {
      heads[static_cast<size_t>(first + part)] =
          cut_heads(projected[i], part, d_model, num_heads);
    }
  }
  return heads;
}

/// y [B, T, d_model] cut into heads.
Tensor joined_heads(const Tensor& y, int64_t num_heads) {
  return cut_heads(y, 0, y.size(2), num_heads);
}

AttentionResult written_out(
    const Projections& projections,
    const Variable& weight,
    const Variable& bias,
    int64_t num_heads,
    const AttentionOptions& options) {
  std::vector<Variable> projected;
  for (const Projection& p : projections) {
    projected.push_back(project(p.source, p, weight, bias));
  }
  const Heads<Variable> heads = heads_of(projections, projected, num_heads);
  AttentionResult result =
      attention_with_weights(heads[0], heads[1], heads[2], options);
  const Variable& y = result.output;  // [B, num_heads, T, head_dim]
  result.output =
      y.transpose(1, 2).reshape({y.size(0), y.size(2), y.size(1) * y.size(3)});
  return result;
}

void check(
    const char* who,
    const Variable& query,
    const Variable& key,
    const Variable& value,
    const Variable& weight,
    const Variable& bias,
    int64_t num_heads) {
  if (!query.defined() || !key.defined() || !value.defined() ||
      !weight.defined()) {
    fail(
        who,
        "query, key, value and weight must be tensors, got an empty handle");
  }
  check_same_dtype(who, query.value(), key.value());
  check_same_dtype(who, query.value(), value.value());
  check_same_dtype(who, query.value(), weight.value());
  if (bias.defined()) {
    check_same_dtype(who, query.value(), bias.value());
  }
  visit_floating(who, query.dtype(), [](auto) {});
  if (query.dim() != 3 || key.dim() != 3 || value.shape() != key.shape() ||
      key.size(0) != query.size(0) || key.size(2) != query.size(2)) {
    fail(
        who,
        "query must have shape [B, T, d_model], key and value [B, S, "
        "d_model], got ",
        query.shape(),
        ", ",
        key.shape(),
        " and ",
        value.shape());
  }
  const int64_t d_model = query.size(2);
  if (num_heads <= 0 || d_model <= 0 || d_model % num_heads != 0) {
    fail(
        who,
        "num_heads must divide d_model, both positive, got num_heads = ",
        num_heads,
        " and d_model = ",
        d_model);
  }
  const Shape weight_shape{3 * d_model, d_model};
  if (weight.shape() != weight_shape) {
    fail(
        who,
        "weight must have shape [3 d_model, d_model] = ",
        weight_shape,
        ", got ",
        weight.shape());
  }
  if (bias.defined() && bias.shape() != Shape{3 * d_model}) {
    fail(
        who,
        "bias must have shape [3 d_model] = ",
        Shape{3 * d_model},
        ", got ",
        bias.shape());
  }
}

/// What backward needs.
struct Kept {
  Projections projections;
  std::vector<Saved<Variable>> sources;
  std::vector<Tensor> projected;  // [B, T, count * d_model] each
  Saved<Variable> weight;
  Saved<Variable> bias;
  int64_t num_heads;
  SavedAttentionOptions options;
  Tensor softmax_stats;  // of attention_forward
};

// With g the gradients of the projections:
//   dsource = g weight,  dweight = g^T source,  dbias = sum of g's rows
std::vector<Variable> fused_gradients(
    const Kept& kept, const Tensor& dy, const Tensor& y) {
  std::vector<Tensor> g;
  for (const Tensor& x : kept.projected) {
    g.emplace_back(x.shape(), x.dtype());
  }
  const Heads<Tensor> in =
      heads_of(kept.projections, kept.projected, kept.num_heads);
  Heads<Tensor> d = heads_of(kept.projections, g, kept.num_heads);
  attention_backward(
      joined_heads(dy.contiguous(), kept.num_heads),
      in[0],
      in[1],
      in[2],
      joined_heads(y, kept.num_heads),
      kept.softmax_stats,
      kept.options.get(),
      d[0],
      d[1],
      d[2]);
  const Variable& weight = kept.weight;
  const Variable& bias = kept.bias;
  Tensor dweight(weight.shape(), weight.dtype());
  Tensor dbias = bias.defined() ? Tensor(bias.shape(), bias.dtype()) : Tensor();
  std::vector<Variable> gradients;
  for (size_t i = 0; i < g.size(); ++i) {
    const Projection& p = kept.projections[i];
    const Variable& source = kept.sources[i];
    gradients.push_back(
        source.requires_grad() ? matmul(g[i], rows_of(weight.value(), p))
                               : Variable());
    if (weight.requires_grad()) {
      Tensor rows = rows_of(dweight, p);
      matmul_into(
          rows, all_rows(g[i]).transpose(0, 1), all_rows(source.value()));
    }
    if (bias.defined() && bias.requires_grad()) {
      rows_of(dbias, p).copy_(sum(all_rows(g[i]), 0));
    }
  }
  gradients.push_back(dweight);
  gradients.push_back(bias.defined() ? Variable(dbias) : Variable());
  return gradients;
}

std::vector<Variable> written_out_gradients(
    const Kept& kept, const Variable& dy) {
  std::vector<Variable> inputs;
  for (const Variable& source : kept.sources) {
    inputs.push_back(source);
  }
  inputs.push_back(kept.weight);
  inputs.push_back(kept.bias);
  return composed_gradients(
      [&kept](const std::vector<Variable>& in) {
        Projections projections = kept.projections;
        for (size_t i = 0; i < projections.size(); ++i) {
          projections[i].source = in[i];
        }
        const size_t weight = projections.size();
        return written_out(
                   projections,
                   in[weight],
                   in[weight + 1],
                   kept.num_heads,
                   kept.options.get())
            .output;
      },
      inputs,
      dy);
}

}  // namespace

Variable multi_head_attention(
    const Variable& query,
    const Variable& key,
    const Variable& value,
    const Variable& weight,
    const Variable& bias,
    int64_t num_heads,
    const AttentionOptions& options) {
  check("multi_head_attention", query, key, value, weight, bias, num_heads);
  const Projections projections = projections_of(query, key, value);
  std::vector<Tensor> projected;
  std::vector<Saved<Variable>> sources;
  std::vector<Variable> inputs;
  for (const Projection& p : projections) {
    projected.push_back(project(
        p.source.value(),
        p,
        weight.value(),
        bias.defined() ? bias.value() : Tensor()));
    sources.push_back(saved(p.source));
    inputs.push_back(p.source);
  }
  inputs.push_back(weight);
  inputs.push_back(bias);
  const Heads<Tensor> heads = heads_of(projections, projected, num_heads);
  Tensor y(query.shape(), query.dtype());
  Tensor y_heads = joined_heads(y, num_heads);
  const Tensor softmax_stats =
      attention_forward(heads[0], heads[1], heads[2], options, y_heads);
  const Kept kept{
      projections,
      sources,
      projected,
      saved(weight),
      saved(bias),
      num_heads,
      SavedAttentionOptions(options),
      softmax_stats};
  return record(
      "multi_head_attention",
      y,
      inputs,
      [kept](const Variable& dy, const Variable& y) -> std::vector<Variable> {
        return grad_enabled() ? written_out_gradients(kept, dy)
                              : fused_gradients(kept, dy.value(), y.value());
      });
}

std::vector<Variable> project_heads(
    const Variable& x,
    const Variable& weight,
    const Variable& bias,
    int64_t num_heads,
    int64_t first,
    int64_t count) {
  constexpr const char* kWho = "project_heads";
  check(kWho, x, x, x, weight, bias, num_heads);
  if (first < 0 || count < 1 || first + count > 3) {
    fail(
        kWho,
        "first and count must be within q, k and v, got ",
        first,
        " and ",
        count);
  }
  const Variable projected = project(x, {x, first, count}, weight, bias);
  std::vector<Variable> heads;
  for (int64_t part = 0; part < count; ++part) {
    heads.push_back(cut_heads(projected, part, x.size(2), num_heads));
  }
  return heads;
}

AttentionResult multi_head_attention_with_weights(
    const Variable& query,
    const Variable& key,
    const Variable& value,
    const Variable& weight,
    const Variable& bias,
    int64_t num_heads,
    const AttentionOptions& options) {
  check("multi_head_attention", query, key, value, weight, bias, num_heads);
  return written_out(
      projections_of(query, key, value), weight, bias, num_heads, options);
}

}  // namespace heed
