#include "bench/libtorch/seq2seq_model.h"

#include <cmath>
#include <limits>

namespace bench {
namespace {

constexpr int64_t kMaxLength = 128;

Tensor sinusoidal_positions(int64_t length, int64_t d_model) {
  using torch::indexing::None;
  using torch::indexing::Slice;
  const auto position = torch::arange(length, torch::kFloat).unsqueeze(1);
  const auto rate = torch::exp(
      torch::arange(0, d_model, 2, torch::kFloat) *
      (-std::log(10000.0) / static_cast<double>(d_model)));
  auto table = torch::zeros({length, d_model});
  table.index_put_({Slice(), Slice(0, None, 2)}, torch::sin(position * rate));
  table.index_put_({Slice(), Slice(1, None, 2)}, torch::cos(position * rate));
  return table;
}

Tensor ids(const std::vector<int64_t>& values, int64_t batch) {
  return torch::tensor(values, torch::kLong).view({batch, -1});
}

}  // namespace

Seq2SeqTensors to_tensors(
    const Seq2SeqWorkload& workload, const Seq2SeqBatch& batch) {
  Seq2SeqTensors tensors{
      .src = ids(batch.src, workload.batch),
      .tgt = ids(batch.tgt, workload.batch),
      .targets = ids(batch.targets, workload.batch),
      .src_padding = {},
      .tgt_padding = {}};
  if (workload.padded()) {
    tensors.src_padding = tensors.src.eq(0);
    tensors.tgt_padding = tensors.tgt.eq(0);
  }
  return tensors;
}

Seq2SeqModel::Seq2SeqModel(const Seq2SeqWorkload& workload)
    : workload_(workload),
      positions_(sinusoidal_positions(kMaxLength, workload.d_model)) {
  const torch::nn::EmbeddingOptions options(
      workload.vocabulary, workload.d_model);
  src_embedding_ =
      register_module("src_embedding", torch::nn::Embedding(options));
  if (!workload.tied) {
    own_tgt_embedding_ =
        register_module("tgt_embedding", torch::nn::Embedding(options));
    output_proj_ = register_module(
        "output_proj",
        torch::nn::Linear(workload.d_model, workload.vocabulary));
  }
}

Tensor Seq2SeqModel::project(const Tensor& decoded) {
  return workload_.tied ? at::linear(decoded, src_embedding_->weight)
                        : output_proj_(decoded);
}

void Seq2SeqModel::start_xavier_uniform() {
  for (Tensor& parameter : parameters()) {
    if (parameter.dim() > 1) {
      torch::nn::init::xavier_uniform_(parameter);
    }
  }
}

torch::nn::Embedding& Seq2SeqModel::tgt_embedding() {
  return workload_.tied ? src_embedding_ : own_tgt_embedding_;
}

Tensor Seq2SeqModel::positions(int64_t first, int64_t length) const {
  return positions_.slice(0, first, first + length);
}

std::shared_ptr<Seq2SeqModel> make_model(
    const Seq2SeqWorkload& workload, const std::string& impl) {
  return impl == "lean" ? make_lean_model(workload)
                        : make_stock_model(workload);
}

Tensor causal_mask(int64_t length) {
  const float hidden = -std::numeric_limits<float>::infinity();
  return torch::triu(torch::full({length, length}, hidden), 1);
}

}  // namespace bench
