#include "bench/gemm_list.h"

namespace bench {

GemmList::GemmList(const Seq2SeqWorkload& workload) {
  const int64_t d = workload.d_model;
  const int64_t src = workload.batch * workload.src_length;
  const int64_t tgt = workload.batch * workload.tgt_length;
  const int64_t heads = workload.batch * workload.num_heads;
  const int64_t head_dim = d / workload.num_heads;
  for (int64_t i = 0; i < workload.layers; ++i) {
    // The encoder's layer.
    add_linear(src, d, 3 * d);
    add_attention(heads, workload.src_length, workload.src_length, head_dim);
    add_linear(src, d, d);
    add_linear(src, d, workload.d_ff);
    add_linear(src, workload.d_ff, d);
    // The decoder's: over the target, over the memory, feed-forward.
    add_linear(tgt, d, 3 * d);
    add_attention(heads, workload.tgt_length, workload.tgt_length, head_dim);
    add_linear(tgt, d, d);
    add_linear(tgt, d, d);
    add_linear(src, d, 2 * d);
    add_attention(heads, workload.tgt_length, workload.src_length, head_dim);
    add_linear(tgt, d, d);
    add_linear(tgt, d, workload.d_ff);
    add_linear(tgt, workload.d_ff, d);
  }
  add_linear(tgt, d, workload.vocabulary);
}

GemmList::GemmList(const GptWorkload& workload) {
  const int64_t d = workload.d_model;
  const int64_t rows = workload.batch * workload.length;
  for (int64_t i = 0; i < workload.layers; ++i) {
    add_linear(rows, d, 3 * d);
    add_attention(
        workload.batch * workload.num_heads,
        workload.length,
        workload.length,
        d / workload.num_heads);
    add_linear(rows, d, d);
    add_linear(rows, d, workload.d_ff);
    add_linear(rows, workload.d_ff, d);
  }
  add_linear(rows, d, workload.vocabulary);
}

GemmList::GemmList(const ScalingWorkload& workload) {
  const int64_t d = workload.d_model;
  const int64_t rows = workload.batch * workload.length;
  add_linear(rows, d, 3 * d);
  add_attention(
      workload.batch * workload.num_heads(),
      workload.length,
      workload.length,
      d / workload.num_heads());
  add_linear(rows, d, d);
  add_linear(rows, d, workload.d_ff());
  add_linear(rows, workload.d_ff(), d);
}

float* GemmList::buffer(int64_t size) {
  buffers_.push_back(std::make_unique<float[]>(static_cast<size_t>(size)));
  float* values = buffers_.back().get();
  for (int64_t i = 0; i < size; ++i) {
    const uint64_t mixed = static_cast<uint64_t>(i) * 2654435761 >> 16;
    values[i] = static_cast<float>(mixed % 1024) / 1024 - 0.5F;
  }
  return values;
}

void GemmList::add_linear(int64_t rows, int64_t in, int64_t out) {
  const float* x = buffer(rows * in);
  const float* weight = buffer(in * out);
  float* y = buffer(rows * out);
  float* dx = buffer(rows * in);
  float* dweight = buffer(in * out);
  // y = x weight^T, dx = dy weight, dweight = dy^T x; y's numbers serve as dy.
  linear_.push_back({false, true, rows, out, in, 1, x, weight, y});
  linear_.push_back({false, false, rows, in, out, 1, y, weight, dx});
  linear_.push_back({true, false, out, in, rows, 1, y, x, dweight});
}

void GemmList::add_attention(
    int64_t heads, int64_t queries, int64_t keys, int64_t head_dim) {
  const int64_t t = queries;
  const int64_t s = keys;
  const int64_t d = head_dim;
  const float* q = buffer(heads * t * d);
  const float* k = buffer(heads * s * d);
  const float* v = buffer(heads * s * d);
  float* p = buffer(heads * t * s);
  float* o = buffer(heads * t * d);
  float* dp = buffer(heads * t * s);
  float* dq = buffer(heads * t * d);
  float* dk = buffer(heads * s * d);
  float* dv = buffer(heads * s * d);
  attention_.push_back({false, true, t, s, d, heads, q, k, p});   // p = q k^T
  attention_.push_back({false, false, t, d, s, heads, p, v, o});  // o = p v
  // o's numbers serve as do, dp's as those of the scores' gradient.
  attention_.push_back({false, true, t, s, d, heads, o, v, dp});  // do v^T
  attention_.push_back({true, false, s, d, t, heads, p, o, dv});  // p^T do
  attention_.push_back({false, false, t, d, s, heads, dp, k, dq});
  attention_.push_back({true, false, s, d, t, heads, dp, q, dk});
}

}  // namespace bench
