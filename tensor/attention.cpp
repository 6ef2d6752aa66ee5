#include "tensor/attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tensor/attention_backward.h"
#include "tensor/attention_forward.h"
#include "tensor/ceil_div.h"
#include "tensor/parallel.h"

namespace heed {
namespace {

using namespace detail;

/// [B, num_heads, T, S].
Shape scores_of(const Tensor& q, const Tensor& k, const AttentionMask& mask) {
  return mask.padded_scores({q.size(0), q.size(1), q.size(2), k.size(2)});
}

AttentionSizes sizes_of(
    const Tensor& q,
    const Tensor& k,
    const Tensor& v,
    const AttentionMask& mask) {
  const Shape scores = scores_of(q, k, mask);
  return {scores[0], scores[1], scores[2], scores[3], q.size(3), v.size(3)};
}

/// As HeadsView wants them.
const int64_t* starts_of(const Packing& packing) {
  return packing.defined() ? packing.starts().data() : nullptr;
}

void check_mask(
    const char* name, const Tensor& mask, DType dtype, const Shape& scores) {
  if (mask.defined() &&
      (mask.dtype() != dtype || !is_broadcastable_to(mask.shape(), scores))) {
    fail(
        "attention",
        name,
        " must be ",
        dtype,
        " and broadcast to ",
        scores,
        ", got ",
        mask.dtype(),
        " ",
        mask.shape());
  }
}

void check_padding(const Tensor& padding, const Shape& shape) {
  if (padding.defined() &&
      (padding.dtype() != kBool || padding.shape() != shape)) {
    fail(
        "attention",
        "mask.padding must be bool and have shape ",
        shape,
        ", got ",
        padding.dtype(),
        " ",
        padding.shape());
  }
}

void check_view(
    const char* name, const Tensor& x, const Shape& shape, DType dtype) {
  check_defined("attention", x, name);
  if (x.shape() != shape || x.dtype() != dtype || !has_dense_rows(x)) {
    fail(
        "attention",
        name,
        " must be ",
        dtype,
        " ",
        shape,
        " with dense rows, got ",
        x.dtype(),
        " ",
        x.shape(),
        " of strides ",
        x.strides());
  }
}

void check_softmax_stats(
    const Tensor& softmax_stats, const AttentionSizes& sizes, DType dtype) {
  const Shape shape({2, sizes.batch, sizes.heads, sizes.queries});
  check_defined("attention", softmax_stats, "softmax_stats");
  if (softmax_stats.shape() != shape || softmax_stats.dtype() != dtype ||
      !softmax_stats.is_contiguous()) {
    fail(
        "attention",
        "softmax_stats must be what attention_forward returned, ",
        dtype,
        " ",
        shape,
        ", got ",
        softmax_stats.dtype(),
        " ",
        softmax_stats.shape());
  }
}

/// Inputs whose rows are dense, copied where they were not.
struct Inputs {
  Tensor q;
  Tensor k;
  Tensor v;
  Tensor padding;
};

Tensor dense_rows(const Tensor& x) {
  return has_dense_rows(x) ? x : x.contiguous();
}

template <typename T>
AttentionProblem<T> prepare(
    const AttentionSizes& sizes,
    const Inputs& in,
    const AttentionOptions& options) {
  const AttentionMask& mask = options.mask;
  const Shape scores({sizes.batch, sizes.heads, sizes.queries, sizes.keys});
  const int64_t* const query_starts = starts_of(mask.query_packing);
  const int64_t* const key_starts = starts_of(mask.key_packing);
  return {
      .sizes = sizes,
      .q = heads_of<T>(in.q, query_starts),
      .k = heads_of<T>(in.k, key_starts),
      .v = heads_of<T>(in.v, key_starts),
      .hidden = MaskView<bool>(mask.hidden, scores),
      .added = MaskView<T>(mask.added, scores),
      .padding = in.padding.defined() ? in.padding.data<bool>() : nullptr,
      .query_starts = query_starts,
      .key_starts = key_starts,
      .is_causal = mask.is_causal,
      .threshold = probability_threshold(options.dropout),
      .start = options.start,
      .scale =
          static_cast<T>(1 / std::sqrt(static_cast<double>(sizes.head_dim))),
      .kept_scale = options.dropout == 1
                        ? T(0)
                        : static_cast<T>(1 / (1 - options.dropout))};
}

Inputs make_inputs(
    const Tensor& q,
    const Tensor& k,
    const Tensor& v,
    const AttentionMask& mask) {
  return {
      dense_rows(q),
      dense_rows(k),
      dense_rows(v),
      mask.padding.defined() ? mask.padding.contiguous() : Tensor()};
}

/// Simple operations that `products` products of a block of queries with all
/// keys amount to.
int64_t cost_of_block(const AttentionSizes& sizes, int64_t products) {
  const int64_t width = std::max(sizes.head_dim, sizes.value_dim);
  const int64_t rows = std::min(sizes.queries, kMaxLanes);
  return products * rows * (sizes.keys + 16) * (width + 16) / 16;
}

/// Into how many parts backward cuts the queries of a head, so that few heads
/// keep many threads busy. Depends on sizes alone, as results do.
int64_t parts_of_head(const AttentionSizes& sizes) {
  constexpr int64_t kEnough = 8;
  constexpr int64_t kQueries = 4 * kMaxLanes;
  const int64_t heads = std::max<int64_t>(1, sizes.batch * sizes.heads);
  return std::clamp<int64_t>(
      sizes.queries / kQueries, 1, ceil_div(kEnough, heads));
}

/// Backward of all heads, the blocks of each cut into as many parts as there
/// are `gradients` for them.
template <typename T>
void backward_parts(
    const AttentionProblem<T>& a,
    const std::vector<AttentionGradients<T>>& gradients) {
  const AttentionSizes& sizes = a.sizes;
  const auto parts = static_cast<int64_t>(gradients.size());
  const int64_t blocks = a.blocks_a_head();
  parallel_for(
      sizes.batch * sizes.heads * parts,
      grain_for(blocks * cost_of_block(sizes, 5) / parts),
      [&](int64_t item, int64_t end) {
        AttentionScratch<T> scratch(a, kBackwardKeys);
        for (; item < end; ++item) {
          const int64_t b = item / parts / sizes.heads;
          const int64_t h = item / parts % sizes.heads;
          const int64_t part = item % parts;
          const int64_t first = part * blocks / parts;
          const int64_t last = (part + 1) * blocks / parts;
          const AttentionGradients<T>& g = gradients[static_cast<size_t>(part)];
          clear_unwritten(a, b, h, first, g);
          for (int64_t i = first; i < last; ++i) {
            const QueryBlock block = a.block(b, h, i);
            if (block.count > 0) {
              backward_block(a, block, i > first, scratch, g);
            }
          }
        }
      });
}

}  // namespace

void check_attention_inputs(
    std::string_view who,
    const Tensor& q,
    const Tensor& k,
    const Tensor& v,
    double dropout) {
  check_same_dtype(who, q, k);
  check_same_dtype(who, q, v);
  visit_floating(who, q.dtype(), [](auto) {});
  if (q.dim() != 4 || k.dim() != 4 || v.dim() != 4 ||
      k.shape() != Shape({q.size(0), q.size(1), k.size(2), q.size(3)}) ||
      v.shape() != Shape({q.size(0), q.size(1), k.size(2), v.size(3)})) {
    fail(
        who,
        "q must have shape [B, num_heads, T, head_dim], k and v [B, "
        "num_heads, S, head_dim], got ",
        q.shape(),
        ", ",
        k.shape(),
        " and ",
        v.shape());
  }
  if (!(dropout >= 0 && dropout <= 1)) {
    fail(who, "dropout must be in [0, 1], got ", dropout);
  }
}

void check_attention(
    const Tensor& q,
    const Tensor& k,
    const Tensor& v,
    const AttentionOptions& options) {
  check_attention_inputs("attention", q, k, v, options.dropout);
  const AttentionMask& mask = options.mask;
  check_packings(
      "attention", mask, {q.size(0), q.size(1), q.size(2), k.size(2)});
  const Shape scores = scores_of(q, k, mask);
  check_padding(mask.padding, {scores[0], scores[3]});
  check_mask("mask.hidden", mask.hidden, kBool, scores);
  check_mask("mask.added", mask.added, q.dtype(), scores);
}

Tensor attention_forward(
    const Tensor& q,
    const Tensor& k,
    const Tensor& v,
    const AttentionOptions& options,
    Tensor& y) {
  check_attention(q, k, v, options);
  const AttentionSizes sizes = sizes_of(q, k, v, options.mask);
  check_view("y", y, {q.size(0), q.size(1), q.size(2), v.size(3)}, q.dtype());
  Tensor softmax_stats({2, sizes.batch, sizes.heads, sizes.queries}, q.dtype());
  if (softmax_stats.numel() == 0) {
    return softmax_stats;
  }
  const Inputs in = make_inputs(q, k, v, options.mask);
  visit_floating("attention", q.dtype(), [&]<typename T>(TypeTag<T>) {
    const AttentionProblem<T> a = prepare<T>(sizes, in, options);
    const HeadsView<T> out = heads_of<T>(y, a.query_starts);
    T* const row_max = softmax_stats.mutable_data<T>();
    T* const inverse_sum = row_max + softmax_stats.numel() / 2;
    const int64_t blocks = a.blocks_a_head();
    parallel_for(
        sizes.batch * sizes.heads * blocks,
        grain_for(cost_of_block(sizes, 2)),
        [&](int64_t item, int64_t end) {
          AttentionScratch<T> scratch(a, kForwardKeys);
          for (; item < end; ++item) {
            const int64_t head = item / blocks;
            const QueryBlock block =
                a.block(head / sizes.heads, head % sizes.heads, item % blocks);
            if (block.count <= 0) {
              continue;
            }
            const int64_t row = head * sizes.queries + block.first;
            const auto forward =
                a.goes_by_rows(block.b) ? forward_rows<T> : forward_block<T>;
            forward(a, block, scratch, out, row_max + row, inverse_sum + row);
          }
        });
  });
  return softmax_stats;
}

void attention_backward(
    const Tensor& dy,
    const Tensor& q,
    const Tensor& k,
    const Tensor& v,
    const Tensor& y,
    const Tensor& softmax_stats,
    const AttentionOptions& options,
    Tensor& dq,
    Tensor& dk,
    Tensor& dv) {
  check_attention(q, k, v, options);
  const AttentionSizes sizes = sizes_of(q, k, v, options.mask);
  const Shape out({q.size(0), q.size(1), q.size(2), v.size(3)});
  const Tensor dense_dy = dense_rows(dy);
  check_view("dy", dense_dy, out, q.dtype());
  check_view("y", y, out, q.dtype());
  check_view("dq", dq, q.shape(), q.dtype());
  check_view("dk", dk, k.shape(), q.dtype());
  check_view("dv", dv, v.shape(), q.dtype());
  check_softmax_stats(softmax_stats, sizes, q.dtype());
  const Inputs in = make_inputs(q, k, v, options.mask);
  // dk and dv of each part of a head; those after the first are added to it.
  const int64_t parts = parts_of_head(sizes);
  std::vector<Tensor> dks = {dk};
  std::vector<Tensor> dvs = {dv};
  for (int64_t part = 1; part < parts; ++part) {
    dks.emplace_back(dk.shape(), dk.dtype());
    dvs.emplace_back(dv.shape(), dv.dtype());
  }
  visit_floating("attention", q.dtype(), [&]<typename T>(TypeTag<T>) {
    const AttentionProblem<T> a = prepare<T>(sizes, in, options);
    const T* const row_max = softmax_stats.data<T>();
    std::vector<AttentionGradients<T>> gradients;
    for (size_t part = 0; part < dks.size(); ++part) {
      gradients.push_back(
          {heads_of<T>(dense_dy, a.query_starts),
           heads_of<T>(y, a.query_starts),
           row_max,
           row_max + softmax_stats.numel() / 2,
           heads_of<T>(dq, a.query_starts),
           heads_of<T>(dks[part], a.key_starts),
           heads_of<T>(dvs[part], a.key_starts)});
    }
    backward_parts(a, gradients);
  });
  for (size_t part = 1; part < dks.size(); ++part) {
    dk.add_(dks[part]);
    dv.add_(dvs[part]);
  }
}

}  // namespace heed
