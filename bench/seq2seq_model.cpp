#include "bench/seq2seq_model.h"

namespace bench {

heed::TransformerOptions model_options(const Seq2SeqWorkload& workload) {
  heed::TransformerOptions options{
      .num_encoder_layers = workload.layers,
      .num_decoder_layers = workload.layers,
      .d_model = workload.d_model,
      .num_heads = workload.num_heads,
      .d_ff = workload.d_ff,
      .dropout = workload.dropout,
      .attention_dropout = workload.dropout,
      .activation_dropout = workload.dropout,
      .final_norm = true,
      .pad_id = std::nullopt,
      .tie_source_target = workload.tied,
      .tie_output = workload.tied,
      .output_bias = !workload.tied};
  if (workload.padded()) {
    options.pad_id = 0;
  }
  return options;
}

Seq2SeqTensors to_tensors(
    const Seq2SeqWorkload& workload, const Seq2SeqBatch& batch) {
  const int64_t b = workload.batch;
  return {
      .src = heed::from_vector(batch.src, {b, workload.src_length}),
      .tgt = heed::from_vector(batch.tgt, {b, workload.tgt_length}),
      .targets = heed::from_vector(batch.targets, {b, workload.tgt_length})};
}

}  // namespace bench
