#include <cmath>

#include "bench/libtorch/seq2seq_model.h"

namespace bench {
namespace {

/// torch::nn::Transformer, which wants [length, B, d_model].
class StockModel : public Seq2SeqModel {
 public:
  explicit StockModel(const Seq2SeqWorkload& workload)
      : Seq2SeqModel(workload) {
    const auto options = torch::nn::TransformerOptions(
                             workload.d_model,
                             workload.num_heads,
                             workload.layers,
                             workload.layers)
                             .dim_feedforward(workload.d_ff)
                             .dropout(workload.dropout);
    transformer_ =
        register_module("transformer", torch::nn::Transformer(options));
    start_xavier_uniform();
  }

  Tensor encode(const Tensor& src, const Tensor& src_padding) override {
    return transformer_->encoder.forward<Tensor>(
        embed(src_embedding_, src), Tensor(), src_padding);
  }

  Tensor decode(
      const Tensor& memory,
      const Tensor& src_padding,
      const Tensor& tgt,
      const Tensor& tgt_padding) override {
    return transformer_->decoder.forward<Tensor>(
        embed(tgt_embedding(), tgt),
        memory,
        causal_mask(tgt.size(1)),
        Tensor(),
        tgt_padding,
        src_padding);
  }

  Tensor last_position(const Tensor& decoded) const override {
    return decoded[decoded.size(0) - 1];
  }

  Tensor in_order(const Tensor& targets) const override {
    return targets.t().reshape(-1);
  }

 private:
  Tensor embed(torch::nn::Embedding& embedding, const Tensor& ids) {
    const double scale = std::sqrt(static_cast<double>(workload_.d_model));
    const Tensor x =
        embedding(ids.t()) * scale + positions(0, ids.size(1)).unsqueeze(1);
    return at::dropout(x, workload_.dropout, is_training());
  }

  torch::nn::Transformer transformer_{nullptr};
};

}  // namespace

std::shared_ptr<Seq2SeqModel> make_stock_model(
    const Seq2SeqWorkload& workload) {
  return std::make_shared<StockModel>(workload);
}

}  // namespace bench
