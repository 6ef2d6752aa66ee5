#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/workload.h"

namespace bench {

/// `batch` matrix products, one behind the other in memory, row-major:
///
///     c [m, n] = op(a) op(b), op transposing when its flag says so
struct Gemm {
  bool trans_a;
  bool trans_b;
  int64_t m;
  int64_t n;
  int64_t k;
  int64_t batch;
  const float* a;
  const float* b;
  float* c;

  double flops() const {
    return 2.0 * static_cast<double>(m * n) * static_cast<double>(k * batch);
  }
};

/// Every matrix product of a training step, forward and backward. Each layer
/// has buffers of its own, so that the traffic is that of a real step.
class GemmList {
 public:
  explicit GemmList(const Seq2SeqWorkload& workload);
  explicit GemmList(const GptWorkload& workload);
  explicit GemmList(const ScalingWorkload& workload);

  /// Of linear layers.
  const std::vector<Gemm>& linear() const { return linear_; }
  /// Of attention, a batch of all heads.
  const std::vector<Gemm>& attention() const { return attention_; }

 private:
  float* buffer(int64_t size);
  void add_linear(int64_t rows, int64_t in, int64_t out);
  void add_attention(
      int64_t heads, int64_t queries, int64_t keys, int64_t head_dim);

  std::vector<std::unique_ptr<float[]>> buffers_;
  std::vector<Gemm> linear_;
  std::vector<Gemm> attention_;
};

}  // namespace bench
