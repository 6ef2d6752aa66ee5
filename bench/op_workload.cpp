#include "bench/op_workload.h"

#include <stdexcept>

namespace bench {
namespace {

constexpr double kFloat = 4;  // bytes

// Two products forward and four backward, not halved for causality.
constexpr double attention_flops(double length) {
  return 6 * 2.0 * 64 * 64 * length * length;
}

}  // namespace

const std::vector<OpWorkload>& op_workloads() {
  static const std::vector<OpWorkload> all = {
      {"softmax_fwd", 0, 2 * kFloat * 8 * 8 * 256 * 256},
      {"softmax_fwd_bwd", 0, 5 * kFloat * 8 * 8 * 256 * 256},
      {"layer_norm_fwd_bwd", 0, 5 * kFloat * 4096 * 512},
      {"attention_manual_T128", attention_flops(128), 0},
      {"attention_sdpa_T128", attention_flops(128), 0},
      {"attention_manual_T512", attention_flops(512), 0},
      {"attention_sdpa_T512", attention_flops(512), 0},
      {"attention_manual_T2048", attention_flops(2048), 0},
      {"attention_sdpa_T2048", attention_flops(2048), 0},
      {"linear_bias_relu_fwd_bwd", 3 * 2.0 * 2048 * 512 * 2048, 0},
      {"cross_entropy_smooth_fwd_bwd", 0, 2 * kFloat * 2048 * 8000},
      {"embedding_fwd_bwd", 0, 0},
      {"dropout_fwd_bwd", 0, 4 * kFloat * 2048 * 2048},
      {"adam_60M", 0, 7 * kFloat * 60e6},
      {"add_4096x1024", 0, 3 * kFloat * 4096 * 1024},
      {"add_inplace_4096x1024", 0, 3 * kFloat * 4096 * 1024},
      {"transpose_contiguous_2048", 0, 2 * kFloat * 2048 * 2048},
      {"sum_dim0_4096x1024", 0, kFloat * 4096 * 1024},
      {"sum_dim1_4096x1024", 0, kFloat * 4096 * 1024},
      {"sum_dim0_64x256x256", 0, kFloat * 64 * 256 * 256},
      {"sum_dim1_64x256x256", 0, kFloat * 64 * 256 * 256},
      {"sum_dim2_64x256x256", 0, kFloat * 64 * 256 * 256},
      {"gemm_1024", 2.0 * 1024 * 1024 * 1024, 0},
      {"bmm_640x10x64x10", 2.0 * 640 * 10 * 64 * 10, 0},
  };
  return all;
}

const OpWorkload& op_workload(const std::string& name) {
  for (const OpWorkload& op : op_workloads()) {
    if (op.name == name) {
      return op;
    }
  }
  throw std::invalid_argument("there is no operation \"" + name + "\"");
}

}  // namespace bench
