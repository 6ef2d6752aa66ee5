#include "tensor/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/attention_tile.h"
#include "tensor/generator.h"
#include "tensor/parallel.h"
#include "tensor/reduction.h"
#include "tensor/simd.h"
#include "tensor/small_product.h"
#include "tensor/strided_loop.h"
#include "tensor/transpose_rows.h"

namespace heed {
namespace {

// Keys of a tile. The cuts depend on nothing that other queries or padding do.
constexpr int64_t kForwardKeys = 128;
constexpr int64_t kBackwardKeys = 64;
// So few queries do not fill the lanes: each is then a row of its own.
constexpr int64_t kFewQueries = 4;

/// A tensor [B, num_heads, rows, width] whose rows are dense.
template <typename T>
struct Heads {
  T* data;
  int64_t batch;
  int64_t head;
  int64_t row;

  T* at(int64_t b, int64_t h, int64_t i) const {
    return data + b * batch + h * head + i * row;
  }
};

bool has_dense_rows(const Tensor& x) {
  return x.size(3) <= 1 || x.stride(3) == 1;
}

template <typename T>
Heads<const T> heads_of(const Tensor& x) {
  return {x.data<T>(), x.stride(0), x.stride(1), x.stride(2)};
}

template <typename T>
Heads<T> heads_of(Tensor& x) {
  return {x.mutable_data<T>(), x.stride(0), x.stride(1), x.stride(2)};
}

/// A mask that broadcasts to the scores; absent when data is null.
template <typename T>
struct Mask {
  const T* data = nullptr;
  Dims strides = {};

  Mask(const Tensor& mask, const Shape& scores) {
    if (mask.defined()) {
      data = mask.data<T>();
      strides = mask.expand(scores).strides();
    }
  }
  const T* at(int64_t b, int64_t h, int64_t i, int64_t j) const {
    return data + b * strides[0] + h * strides[1] + i * strides[2] +
           j * strides[3];
  }
};

struct Sizes {
  int64_t batch;
  int64_t heads;
  int64_t queries;
  int64_t keys;
  int64_t head_dim;
  int64_t value_dim;
};

/// Queries [first, first + count) of one head, padded to `lanes`.
struct Block {
  int64_t b;
  int64_t h;
  int64_t first;
  int64_t count;
  int64_t lanes;
};

template <typename T>
struct Attention {
  Sizes sizes;
  Heads<const T> q;
  Heads<const T> k;
  Heads<const T> v;
  Mask<bool> hidden;
  Mask<T> added;
  const bool* padding;  // dense [B, S] or null
  bool is_causal;
  uint64_t threshold;  // of dropout
  GeneratorState start;
  T scale;       // of the scores
  T kept_scale;  // of weights that dropout keeps

  int64_t blocks_a_head() const {
    return (sizes.queries + kMaxLanes - 1) / kMaxLanes;
  }
  Block block(int64_t b, int64_t h, int64_t index) const {
    const int64_t first = index * kMaxLanes;
    const int64_t count = std::min(kMaxLanes, sizes.queries - first);
    return {b, h, first, count, count <= kTileLanes ? kTileLanes : kMaxLanes};
  }
  /// Queries see keys up to their own number plus this.
  int64_t lead() const { return sizes.keys - sizes.queries; }
  /// How many keys the last query of the block may see.
  int64_t visible_keys(const Block& block) const {
    const int64_t last = block.first + block.count + lead();
    return is_causal ? std::clamp<int64_t>(last, 0, sizes.keys) : sizes.keys;
  }
  bool is_padding(int64_t b, int64_t j) const {
    return padding != nullptr && padding[b * sizes.keys + j];
  }
  bool drops() const { return threshold > 0; }
  bool goes_by_rows() const { return sizes.queries <= kFewQueries && !drops(); }
};

/// Calls f(j, n) for runs of n <= longest keys from j on that no query is
/// forbidden: runs end where padding begins.
template <typename T, typename F>
void each_run(
    const Attention<T>& a, const Block& block, int64_t longest, const F& f) {
  const int64_t end = a.visible_keys(block);
  const auto is_visible = [&](int64_t j) {
    return j < end && !a.is_padding(block.b, j);
  };
  for (int64_t j = 0; j < end;) {
    int64_t n = 0;
    while (n < longest && is_visible(j + n)) {
      ++n;
    }
    if (n > 0) {
      f(j, n);
    }
    j += std::max<int64_t>(n, 1);
  }
}

/// Room for the tiles of one thread.
template <typename T>
class Scratch {
 public:
  explicit Scratch(const Attention<T>& a, int64_t keys)
      : room_(
            {std::max(
                a.sizes.keys,
                (a.sizes.head_dim + a.sizes.value_dim + 2 * keys) * kMaxLanes)},
            dtype_of<T>),
        q(room_.mutable_data<T>()),
        dy(q + a.sizes.head_dim * kMaxLanes),
        scores(dy + a.sizes.value_dim * kMaxLanes),
        gradients(scores + keys * kMaxLanes),
        kept_bits_(a.drops() ? a.sizes.keys * kMaxLanes / 64 + 4 : 0) {}

  /// Draws what dropout keeps of the block's scores.
  void draw(const Attention<T>& a, const Block& block) {
    const int64_t row =
        (block.b * a.sizes.heads + block.h) * a.sizes.queries + block.first;
    first_bit_ = row * a.sizes.keys;
    const int64_t visible = a.visible_keys(block);
    first_batch_ = first_bit_ / kRandomWords;
    int64_t next = first_batch_;
    for (int64_t q = 0; q < block.count && visible > 0; ++q) {
      const int64_t begin = first_bit_ + q * a.sizes.keys;
      next = std::max(next, begin / kRandomWords);
      for (; next * kRandomWords < begin + visible; ++next) {
        kept_bits_[static_cast<size_t>(next - first_batch_)] =
            keep_bits(a.start, next, a.threshold);
      }
    }
  }

  /// The bits of keys j ... j + keys - 1, as drop_tile wants them.
  const uint32_t* kept(
      const Attention<T>& a, const Block& block, int64_t j, int64_t keys) {
    const int64_t offset = first_bit_ - first_batch_ * kRandomWords + j;
    for (int64_t word = 0; word * 32 < keys; ++word) {
      for (int64_t q = 0; q < block.count; ++q) {
        const int64_t bit = offset + q * a.sizes.keys + word * 32;
        const uint64_t* const at = kept_bits_.data() + bit / 64;
        const int shift = static_cast<int>(bit % 64);
        kept_[word * kMaxLanes + q] = static_cast<uint32_t>(
            shift == 0 ? at[0] : at[0] >> shift | at[1] << (64 - shift));
      }
    }
    return kept_;
  }

 private:
  Tensor room_;

 public:
  T* q;          // [head_dim, lanes], scaled
  T* dy;         // [value_dim, lanes]
  T* scores;     // [keys, lanes]
  T* gradients;  // [keys, lanes]

 private:
  std::vector<uint64_t> kept_bits_;  // a bit for each score of a block
  int64_t first_bit_ = 0;            // the number of the first one in the draw
  int64_t first_batch_ = 0;
  alignas(64) uint32_t kept_[kForwardKeys / 32 * kMaxLanes] = {};
};

/// Applies what masks say, but is_causal, to the scores of query i for keys j
/// ... j + keys - 1, `step` elements apart.
template <typename T>
void mask_scores(
    const Attention<T>& a,
    const Block& block,
    int64_t i,
    int64_t j,
    int64_t keys,
    T* scores,
    int64_t step) {
  if (a.added.data != nullptr) {
    const T* const added = a.added.at(block.b, block.h, i, j);
    for (int64_t r = 0; r < keys; ++r) {
      scores[r * step] += added[r * a.added.strides[3]];
    }
  }
  if (a.hidden.data != nullptr) {
    const bool* const hidden = a.hidden.at(block.b, block.h, i, j);
    for (int64_t r = 0; r < keys; ++r) {
      if (hidden[r * a.hidden.strides[3]]) {
        scores[r * step] = -std::numeric_limits<T>::infinity();
      }
    }
  }
}

/// scores [keys, lanes] of the block's queries for keys from j on, masked.
template <typename T>
void score_tile(
    const Attention<T>& a,
    const Block& block,
    int64_t j,
    int64_t keys,
    const T* q,
    T* scores) {
  const int64_t lanes = block.lanes;
  multiply(
      {.m = keys,
       .n = lanes,
       .k = a.sizes.head_dim,
       .a = a.k.at(block.b, block.h, j),
       .a_row = a.k.row,
       .a_column = 1,
       .b = q,
       .b_row = lanes,
       .c = scores,
       .c_row = lanes});
  for (int64_t l = 0; l < block.count; ++l) {
    mask_scores(a, block, block.first + l, j, keys, scores + l, lanes);
  }
  if (a.is_causal) {
    const int64_t first = j - block.first - a.lead();
    for (int64_t r = std::max<int64_t>(0, 1 - first); r < keys; ++r) {
      std::fill_n(
          scores + r * lanes,
          std::min(first + r, lanes),
          -std::numeric_limits<T>::infinity());
    }
  }
}

/// y [width, lanes] = scale x^T, see transpose_rows.
template <typename T>
void transpose(
    const T* x, int64_t row, const Block& block, int64_t width, T scale, T* y) {
  simd::call_own<
      transpose_rows<T, 16>,
      transpose_rows<T, 32>,
      transpose_rows<T, 64>>(x, row, block.count, width, block.lanes, scale, y);
}

template <typename T>
void forward_block(
    const Attention<T>& a,
    const Block& block,
    Scratch<T>& scratch,
    const Heads<T>& y,
    T* most,
    T* inverse) {
  const int64_t width = a.sizes.value_dim;
  const int64_t lanes = block.lanes;
  T* const out = y.at(block.b, block.h, block.first);
  transpose(
      a.q.at(block.b, block.h, block.first),
      a.q.row,
      block,
      a.sizes.head_dim,
      a.scale,
      scratch.q);
  if (a.drops()) {
    scratch.draw(a, block);
  }
  Running<T> running;
  std::fill_n(running.most, lanes, -std::numeric_limits<T>::infinity());
  std::fill_n(running.total, lanes, T(0));
  bool is_first = true;
  each_run(a, block, kForwardKeys, [&](int64_t j, int64_t keys) {
    score_tile(a, block, j, keys, scratch.q, scratch.scores);
    simd::call<softmax_tile<T>>(scratch.scores, keys, lanes, &running);
    if (a.drops()) {
      simd::call<drop_tile<T>>(
          scratch.scores,
          scratch.scores,
          keys,
          lanes,
          scratch.kept(a, block, j, keys),
          T(1));
    }
    const auto is_one = [](T x) { return x == T(1); };
    if (!is_first &&
        !std::all_of(running.rescale, running.rescale + block.count, is_one)) {
      simd::call<scale_rows<T>>(
          out, y.row, block.count, width, running.rescale);
    }
    multiply(
        {.m = block.count,
         .n = width,
         .k = keys,
         .a = scratch.scores,
         .a_row = 1,
         .a_column = lanes,
         .b = a.v.at(block.b, block.h, j),
         .b_row = a.v.row,
         .c = out,
         .c_row = y.row,
         .add = !is_first});
    is_first = false;
  });
  for (int64_t l = 0; l < block.count; ++l) {
    const T total = running.total[l];
    most[l] = total == 0 ? T(0) : running.most[l];
    inverse[l] = total == 0 ? T(0) : 1 / total;
    running.rescale[l] = inverse[l] * a.kept_scale;
    if (total == 0) {
      std::fill_n(out + l * y.row, width, T(0));
    }
  }
  simd::call<scale_rows<T>>(out, y.row, block.count, width, running.rescale);
}

/// As forward_block, for queries that go by rows.
template <typename T>
void forward_rows(
    const Attention<T>& a,
    const Block& block,
    Scratch<T>& scratch,
    const Heads<T>& y,
    T* most,
    T* inverse) {
  const int64_t width = a.sizes.value_dim;
  T* const s = scratch.q;
  for (int64_t l = 0; l < block.count; ++l) {
    const Block row{block.b, block.h, block.first + l, 1, 1};
    const T* const q = a.q.at(row.b, row.h, row.first);
    T* const out = y.at(row.b, row.h, row.first);
    const int64_t visible = a.visible_keys(row);
    std::fill_n(s, visible, -std::numeric_limits<T>::infinity());
    each_run(a, row, visible, [&](int64_t j, int64_t keys) {
      simd::call_own<score_row<T, 16>, score_row<T, 32>, score_row<T, 64>>(
          q,
          a.k.at(row.b, row.h, j),
          a.k.row,
          keys,
          a.sizes.head_dim,
          a.scale,
          s + j);
      mask_scores(a, row, row.first, j, keys, s + j, 1);
    });
    simd::call<softmax_alone<T>>(s, visible, most + l, inverse + l);
    std::fill_n(out, width, T(0));
    each_run(a, row, visible, [&](int64_t j, int64_t keys) {
      multiply(
          {.m = 1,
           .n = width,
           .k = keys,
           .a = s + j,
           .a_row = 1,
           .a_column = 1,
           .b = a.v.at(row.b, row.h, j),
           .b_row = a.v.row,
           .c = out,
           .c_row = y.row,
           .add = true});
    });
    simd::call<scale_rows<T>>(out, y.row, 1, width, inverse + l);
  }
}

/// What forward left and what backward is to find.
template <typename T>
struct Gradients {
  Heads<const T> dy;
  Heads<const T> y;
  const T* most;     // [B, num_heads, T]
  const T* inverse;  // [B, num_heads, T]
  Heads<T> dq;
  Heads<T> dk;
  Heads<T> dv;
};

/// Clears the rows of dk and dv that the first of some blocks does not write.
template <typename T>
void clear_unwritten(
    const Attention<T>& a,
    int64_t b,
    int64_t h,
    int64_t first_block,
    const Gradients<T>& g) {
  const int64_t seen =
      a.sizes.queries == 0 ? 0 : a.visible_keys(a.block(b, h, first_block));
  for (int64_t j = 0; j < a.sizes.keys; ++j) {
    if (j >= seen || a.is_padding(b, j)) {
      std::fill_n(g.dk.at(b, h, j), a.sizes.head_dim, T(0));
      std::fill_n(g.dv.at(b, h, j), a.sizes.value_dim, T(0));
    }
  }
}

/// Writes dq of the block, and writes or adds to dk and dv.
template <typename T>
void backward_block(
    const Attention<T>& a,
    const Block& block,
    bool adds,
    Scratch<T>& scratch,
    const Gradients<T>& g) {
  const int64_t b = block.b;
  const int64_t h = block.h;
  const int64_t first = block.first;
  const int64_t count = block.count;
  const int64_t lanes = block.lanes;
  const Sizes& sizes = a.sizes;
  const T* const q = a.q.at(b, h, first);
  const T* const dy = g.dy.at(b, h, first);
  T* const dq = g.dq.at(b, h, first);
  transpose(q, a.q.row, block, sizes.head_dim, a.scale, scratch.q);
  transpose(dy, g.dy.row, block, sizes.value_dim, T(1), scratch.dy);
  if (a.drops()) {
    scratch.draw(a, block);
  }
  alignas(64) T most[kMaxLanes] = {};
  alignas(64) T inverse[kMaxLanes] = {};
  alignas(64) T mean[kMaxLanes] = {};
  const int64_t row = (b * sizes.heads + h) * sizes.queries + first;
  std::copy_n(g.most + row, count, most);
  std::copy_n(g.inverse + row, count, inverse);
  simd::call<dot_rows<T>>(
      dy, g.dy.row, g.y.at(b, h, first), g.y.row, count, sizes.value_dim, mean);
  bool is_first = true;
  each_run(a, block, kBackwardKeys, [&](int64_t j, int64_t keys) {
    T* const p = scratch.scores;
    T* const gradients = scratch.gradients;
    const T* const v = a.v.at(b, h, j);
    score_tile(a, block, j, keys, scratch.q, p);
    simd::call<weights_tile<T>>(p, keys, lanes, most, inverse);
    const uint32_t* kept = nullptr;
    if (a.drops()) {
      kept = scratch.kept(a, block, j, keys);
      simd::call<drop_tile<T>>(p, gradients, keys, lanes, kept, a.kept_scale);
    }
    // dv += dropout(p)^T dy
    multiply(
        {.m = keys,
         .n = sizes.value_dim,
         .k = count,
         .a = a.drops() ? gradients : p,
         .a_row = lanes,
         .a_column = 1,
         .b = dy,
         .b_row = g.dy.row,
         .c = g.dv.at(b, h, j),
         .c_row = g.dv.row,
         .add = adds});
    // g = dropout(dy v^T), transposed
    multiply(
        {.m = keys,
         .n = lanes,
         .k = sizes.value_dim,
         .a = v,
         .a_row = a.v.row,
         .a_column = 1,
         .b = scratch.dy,
         .b_row = lanes,
         .c = gradients,
         .c_row = lanes});
    if (a.drops()) {
      simd::call<drop_tile<T>>(
          gradients, gradients, keys, lanes, kept, a.kept_scale);
    }
    simd::call<score_gradients_tile<T>>(
        p, gradients, keys, lanes, mean, a.scale);
    // dk += ds^T q
    multiply(
        {.m = keys,
         .n = sizes.head_dim,
         .k = count,
         .a = p,
         .a_row = lanes,
         .a_column = 1,
         .b = q,
         .b_row = a.q.row,
         .c = g.dk.at(b, h, j),
         .c_row = g.dk.row,
         .add = adds});
    // dq += ds k
    multiply(
        {.m = count,
         .n = sizes.head_dim,
         .k = keys,
         .a = p,
         .a_row = 1,
         .a_column = lanes,
         .b = a.k.at(b, h, j),
         .b_row = a.k.row,
         .c = dq,
         .c_row = g.dq.row,
         .add = !is_first});
    is_first = false;
  });
  if (is_first) {
    for (int64_t l = 0; l < count; ++l) {
      std::fill_n(dq + l * g.dq.row, sizes.head_dim, T(0));
    }
  }
}

Sizes sizes_of(const Tensor& q, const Tensor& k, const Tensor& v) {
  return {q.size(0), q.size(1), q.size(2), k.size(2), q.size(3), v.size(3)};
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
Attention<T> prepare(
    const Sizes& sizes, const Inputs& in, const AttentionOptions& options) {
  const AttentionMask& mask = options.mask;
  const Shape scores({sizes.batch, sizes.heads, sizes.queries, sizes.keys});
  return {
      .sizes = sizes,
      .q = heads_of<T>(in.q),
      .k = heads_of<T>(in.k),
      .v = heads_of<T>(in.v),
      .hidden = Mask<bool>(mask.hidden, scores),
      .added = Mask<T>(mask.added, scores),
      .padding = in.padding.defined() ? in.padding.data<bool>() : nullptr,
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
int64_t cost_of_block(const Sizes& sizes, int64_t products) {
  const int64_t width = std::max(sizes.head_dim, sizes.value_dim);
  const int64_t rows = std::min(sizes.queries, kMaxLanes);
  return products * rows * (sizes.keys + 16) * (width + 16) / 16;
}

/// Into how many parts backward cuts the queries of a head, so that few heads
/// keep many threads busy. Depends on sizes alone, as results do.
int64_t parts_of_head(const Sizes& sizes) {
  constexpr int64_t kEnough = 8;
  constexpr int64_t kQueries = 4 * kMaxLanes;
  const int64_t heads = std::max<int64_t>(1, sizes.batch * sizes.heads);
  return std::clamp<int64_t>(
      sizes.queries / kQueries, 1, (kEnough + heads - 1) / heads);
}

}  // namespace

void check_attention(
    const Tensor& q,
    const Tensor& k,
    const Tensor& v,
    const AttentionOptions& options) {
  constexpr const char* kWho = "attention";
  check_same_dtype(kWho, q, k);
  check_same_dtype(kWho, q, v);
  visit_floating(kWho, q.dtype(), [](auto) {});
  if (q.dim() != 4 || k.dim() != 4 || v.dim() != 4 ||
      k.shape() != Shape({q.size(0), q.size(1), k.size(2), q.size(3)}) ||
      v.shape() != Shape({q.size(0), q.size(1), k.size(2), v.size(3)})) {
    fail(
        kWho,
        "q must have shape [B, num_heads, T, head_dim], k and v [B, "
        "num_heads, S, head_dim], got ",
        q.shape(),
        ", ",
        k.shape(),
        " and ",
        v.shape());
  }
  const Shape scores({q.size(0), q.size(1), q.size(2), k.size(2)});
  const AttentionMask& mask = options.mask;
  check_padding(mask.padding, {scores[0], scores[3]});
  check_mask("mask.hidden", mask.hidden, kBool, scores);
  check_mask("mask.added", mask.added, q.dtype(), scores);
  if (!(options.dropout >= 0 && options.dropout <= 1)) {
    fail(kWho, "dropout must be in [0, 1], got ", options.dropout);
  }
}

Tensor attention_forward(
    const Tensor& q,
    const Tensor& k,
    const Tensor& v,
    const AttentionOptions& options,
    Tensor& y) {
  check_attention(q, k, v, options);
  const Sizes sizes = sizes_of(q, k, v);
  check_view(
      "y",
      y,
      {sizes.batch, sizes.heads, sizes.queries, sizes.value_dim},
      q.dtype());
  Tensor rows({2, sizes.batch, sizes.heads, sizes.queries}, q.dtype());
  if (rows.numel() == 0) {
    return rows;
  }
  const Inputs in = make_inputs(q, k, v, options.mask);
  visit_floating("attention", q.dtype(), [&]<typename T>(TypeTag<T>) {
    const Attention<T> a = prepare<T>(sizes, in, options);
    const Heads<T> out = heads_of<T>(y);
    T* const most = rows.mutable_data<T>();
    T* const inverse = most + rows.numel() / 2;
    const int64_t blocks = a.blocks_a_head();
    parallel_for(
        sizes.batch * sizes.heads * blocks,
        grain_for(cost_of_block(sizes, 2)),
        [&](int64_t item, int64_t end) {
          Scratch<T> scratch(a, kForwardKeys);
          for (; item < end; ++item) {
            const int64_t head = item / blocks;
            const Block block =
                a.block(head / sizes.heads, head % sizes.heads, item % blocks);
            const int64_t row = head * sizes.queries + block.first;
            const auto forward =
                a.goes_by_rows() ? forward_rows<T> : forward_block<T>;
            forward(a, block, scratch, out, most + row, inverse + row);
          }
        });
  });
  return rows;
}

void attention_backward(
    const Tensor& dy,
    const Tensor& q,
    const Tensor& k,
    const Tensor& v,
    const Tensor& y,
    const Tensor& rows,
    const AttentionOptions& options,
    Tensor& dq,
    Tensor& dk,
    Tensor& dv) {
  check_attention(q, k, v, options);
  const Sizes sizes = sizes_of(q, k, v);
  const Shape out({sizes.batch, sizes.heads, sizes.queries, sizes.value_dim});
  const Tensor dense_dy = dense_rows(dy);
  check_view("dy", dense_dy, out, q.dtype());
  check_view("y", y, out, q.dtype());
  check_view("dq", dq, q.shape(), q.dtype());
  check_view("dk", dk, k.shape(), q.dtype());
  check_view("dv", dv, v.shape(), q.dtype());
  const Inputs in = make_inputs(q, k, v, options.mask);
  // dk and dv of a head's blocks but those of the first part, to be added.
  const int64_t heads = sizes.batch * sizes.heads;
  const int64_t parts = parts_of_head(sizes);
  const auto others = [&](const Tensor& x) {
    return Tensor(
        {parts - 1, x.size(0), x.size(1), x.size(2), x.size(3)}, x.dtype());
  };
  Tensor other_dk = others(k);
  Tensor other_dv = others(v);
  visit_floating("attention", q.dtype(), [&]<typename T>(TypeTag<T>) {
    const Attention<T> a = prepare<T>(sizes, in, options);
    const T* const most = rows.data<T>();
    std::vector<Gradients<T>> gradients;
    for (int64_t part = 0; part < parts; ++part) {
      Tensor part_dk = part == 0 ? dk : other_dk[part - 1];
      Tensor part_dv = part == 0 ? dv : other_dv[part - 1];
      gradients.push_back(
          {heads_of<T>(dense_dy),
           heads_of<T>(y),
           most,
           most + rows.numel() / 2,
           heads_of<T>(dq),
           heads_of<T>(part_dk),
           heads_of<T>(part_dv)});
    }
    const int64_t blocks = a.blocks_a_head();
    parallel_for(
        heads * parts,
        grain_for(blocks * cost_of_block(sizes, 5) / parts),
        [&](int64_t item, int64_t end) {
          Scratch<T> scratch(a, kBackwardKeys);
          for (; item < end; ++item) {
            const int64_t b = item / parts / sizes.heads;
            const int64_t h = item / parts % sizes.heads;
            const int64_t part = item % parts;
            const int64_t first = part * blocks / parts;
            const int64_t last = (part + 1) * blocks / parts;
            const Gradients<T>& g = gradients[static_cast<size_t>(part)];
            clear_unwritten(a, b, h, first, g);
            for (int64_t i = first; i < last; ++i) {
              backward_block(a, a.block(b, h, i), i > first, scratch, g);
            }
          }
        });
  });
  for (int64_t part = 0; part + 1 < parts; ++part) {
    dk.add_(other_dk[part]);
    dv.add_(other_dv[part]);
  }
}

}  // namespace heed
