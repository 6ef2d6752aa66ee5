#pragma once

#include <vector>

#include "bench/libtorch/lean_layer.h"
#include "bench/libtorch/seq2seq_model.h"

namespace bench {

/// The encoder-decoder as a careful user would write it, batch first.
class LeanModel : public Seq2SeqModel {
 public:
  explicit LeanModel(const Seq2SeqWorkload& workload);

  Tensor encode(const Tensor& src, const Tensor& src_padding) override;
  Tensor decode(
      const Tensor& memory,
      const Tensor& src_padding,
      const Tensor& tgt,
      const Tensor& tgt_padding) override;
  Tensor last_position(const Tensor& decoded) const override;
  Tensor in_order(const Tensor& targets) const override;

  /// Greedy decoding of `steps` tokens after token 1, with key/value caches:
  /// src [B, S] -> [B, steps]
  Tensor decode_greedily(const Tensor& src, int64_t steps);

 private:
  Tensor embed(
      torch::nn::Embedding& embedding, const Tensor& ids, int64_t first = 0);
  Tensor padding_mask(const Tensor& padding) const;

  std::vector<LeanLayer> encoder_;
  std::vector<LeanLayer> decoder_;
  torch::nn::LayerNorm encoder_norm_{nullptr};
  torch::nn::LayerNorm decoder_norm_{nullptr};
};

}  // namespace bench
