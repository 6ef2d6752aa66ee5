#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>

#include "bench/workload.h"

namespace bench {

using torch::Tensor;

/// A batch as tensors.
struct Seq2SeqTensors {
  Tensor src;          // [B, S]
  Tensor tgt;          // [B, T]
  Tensor targets;      // [B, T]
  Tensor src_padding;  // bool, true = padding; undefined when nothing is padded
  Tensor tgt_padding;
};
Seq2SeqTensors to_tensors(
    const Seq2SeqWorkload& workload, const Seq2SeqBatch& batch);

/// What both encoder-decoders share. Layouts of activations are their own.
class Seq2SeqModel : public torch::nn::Module {
 public:
  explicit Seq2SeqModel(const Seq2SeqWorkload& workload);

  virtual Tensor encode(const Tensor& src, const Tensor& src_padding) = 0;
  virtual Tensor decode(
      const Tensor& memory,
      const Tensor& src_padding,
      const Tensor& tgt,
      const Tensor& tgt_padding) = 0;
  /// What decode says of the last position, [B, d_model].
  virtual Tensor last_position(const Tensor& decoded) const = 0;
  /// Targets in the order of decode's positions, [N].
  virtual Tensor in_order(const Tensor& targets) const = 0;
  /// Logits.
  Tensor project(const Tensor& decoded);

 protected:
  void start_xavier_uniform();
  torch::nn::Embedding& tgt_embedding();
  /// sin at 2i, cos at 2i + 1: [length, d_model]
  Tensor positions(int64_t first, int64_t length) const;

  const Seq2SeqWorkload workload_;
  torch::nn::Embedding src_embedding_{nullptr};

 private:
  torch::nn::Embedding own_tgt_embedding_{nullptr};  // unless tied
  torch::nn::Linear output_proj_{nullptr};           // unless tied
  Tensor positions_;
};

/// torch::nn::Transformer.
std::shared_ptr<Seq2SeqModel> make_stock_model(const Seq2SeqWorkload& workload);
/// By hand; see lean_model.h.
std::shared_ptr<Seq2SeqModel> make_lean_model(const Seq2SeqWorkload& workload);
/// Either, as `impl` says: "nn" or "lean".
std::shared_ptr<Seq2SeqModel> make_model(
    const Seq2SeqWorkload& workload, const std::string& impl);

/// Added to scores: -inf above the diagonal, [length, length].
Tensor causal_mask(int64_t length);

}  // namespace bench
