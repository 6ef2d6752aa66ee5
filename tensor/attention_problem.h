#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/attention_tile.h"
#include "tensor/ceil_div.h"
#include "tensor/generator.h"
#include "tensor/tensor.h"

namespace heed::detail {

// What the tiles of one call of attention are cut from.

/// Keys of a tile. The cuts depend on nothing that other queries or padding do.
inline constexpr int64_t kForwardKeys = 128;
inline constexpr int64_t kBackwardKeys = 64;
/// So few queries do not fill the lanes: each is then a row of its own.
inline constexpr int64_t kFewQueries = 4;

/// A tensor [B, num_heads, rows, width] whose rows are dense, or a packed one
/// [1, num_heads, tokens, width].
template <typename T>
struct HeadsView {
  T* data;
  int64_t batch;
  int64_t head;
  int64_t row;
  const int64_t* starts;  // row of each packed sequence's first token, or null

  T* at(int64_t b, int64_t h, int64_t i) const {
    const int64_t sequence = starts == nullptr ? b * batch : starts[b] * row;
    return data + sequence + h * head + i * row;
  }
};

inline bool has_dense_rows(const Tensor& x) {
  return x.size(3) <= 1 || x.stride(3) == 1;
}

template <typename T>
HeadsView<const T> heads_of(const Tensor& x, const int64_t* starts) {
  return {x.data<T>(), x.stride(0), x.stride(1), x.stride(2), starts};
}

template <typename T>
HeadsView<T> heads_of(Tensor& x, const int64_t* starts) {
  return {x.mutable_data<T>(), x.stride(0), x.stride(1), x.stride(2), starts};
}

/// A mask that broadcasts to the scores; absent when data is null.
template <typename T>
struct MaskView {
  const T* data = nullptr;
  Dims strides = {};

  MaskView(const Tensor& mask, const Shape& scores) {
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

struct AttentionSizes {
  int64_t batch;
  int64_t heads;
  int64_t queries;  // the most of one sequence, and so are keys
  int64_t keys;
  int64_t head_dim;
  int64_t value_dim;
};

/// Queries [first, first + count) of one head, padded to `lanes`; none, count
/// <= 0, past the end of a packed sequence.
struct QueryBlock {
  int64_t b;
  int64_t h;
  int64_t first;
  int64_t count;
  int64_t lanes;
};

template <typename T>
struct AttentionProblem {
  AttentionSizes sizes;
  HeadsView<const T> q;
  HeadsView<const T> k;
  HeadsView<const T> v;
  MaskView<bool> hidden;
  MaskView<T> added;
  const bool* padding;          // dense [B, S] or null
  const int64_t* query_starts;  // as HeadsView::starts
  const int64_t* key_starts;
  bool is_causal;
  uint64_t threshold;  // of dropout
  GeneratorState start;
  T scale;       // of the scores
  T kept_scale;  // of weights that dropout keeps

  int64_t blocks_a_head() const { return ceil_div(sizes.queries, kMaxLanes); }
  QueryBlock block(int64_t b, int64_t h, int64_t index) const {
    const int64_t first = index * kMaxLanes;
    const int64_t count = std::min(kMaxLanes, queries(b) - first);
    return {b, h, first, count, count <= kTileLanes ? kTileLanes : kMaxLanes};
  }
  /// How many there are of sequence b.
  int64_t queries(int64_t b) const {
    return query_starts == nullptr ? sizes.queries
                                   : query_starts[b + 1] - query_starts[b];
  }
  int64_t keys(int64_t b) const {
    return key_starts == nullptr ? sizes.keys
                                 : key_starts[b + 1] - key_starts[b];
  }
  /// Queries see keys up to their own number plus this.
  int64_t lead(int64_t b) const { return keys(b) - queries(b); }
  /// How many keys the last query of the block may see.
  int64_t visible_keys(const QueryBlock& block) const {
    const int64_t last = block.first + block.count + lead(block.b);
    const int64_t all = keys(block.b);
    return is_causal ? std::clamp<int64_t>(last, 0, all) : all;
  }
  bool is_padding(int64_t b, int64_t j) const {
    return padding != nullptr && padding[b * sizes.keys + j];
  }
  bool drops() const { return threshold > 0; }
  bool goes_by_rows(int64_t b) const {
    return queries(b) <= kFewQueries && !drops();
  }
};

/// Calls f(j, n) for runs of n <= longest keys from j on that no query is
/// forbidden: runs end where padding begins.
template <typename T, typename F>
void each_run(
    const AttentionProblem<T>& a,
    const QueryBlock& block,
    int64_t longest,
    const F& f) {
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

}  // namespace heed::detail
