#pragma once

#include <cstdint>
#include <string>
#include <vector>

// What is measured: models, their data. heed's program and libtorch's both read
// it here.

namespace bench {

/// Training of an encoder-decoder as in the paper: post-norm, sinusoidal
/// positions, ReLU, Adam with betas (0.9, 0.98) and eps 1e-9. Token 0 is
/// padding and no target.
struct Seq2SeqWorkload {
  std::string name;
  int64_t vocabulary;
  int64_t layers;  // of the encoder, and of the decoder
  int64_t d_model;
  int64_t d_ff;
  int64_t num_heads;
  int64_t batch;
  int64_t src_length;
  int64_t tgt_length;
  bool tied;           // one embedding: source, target, output without bias
  int64_t min_length;  // of padded sequences; 0: full ones, nothing is masked
  double label_smoothing;
  /// Of embedding + position, of sub-layers' outputs, of attention weights and
  /// behind the activation, as torch.nn.Transformer does with its one number.
  double dropout;

  bool padded() const { return min_length > 0; }
  double lr() const { return d_model >= 512 ? 1e-4 : 5e-4; }
};

const std::vector<Seq2SeqWorkload>& seq2seq_workloads();
/// Throws std::invalid_argument when there is none of that name.
const Seq2SeqWorkload& seq2seq_workload(const std::string& name);

/// Training of a decoder alone, as GPT-2: norm first, GELU by its tanh
/// approximation, learned positions, output weight tied to the embedding, no
/// dropout; AdamW without decay, betas (0.9, 0.98), eps 1e-9.
struct GptWorkload {
  int64_t vocabulary = 512;
  int64_t layers = 4;
  int64_t d_model = 256;
  int64_t d_ff = 1024;
  int64_t num_heads = 4;
  int64_t batch = 8;
  int64_t length = 128;
  double lr = 1e-4;
};

/// Ids, row-major [batch, length].
struct Seq2SeqBatch {
  std::vector<int64_t> src;
  std::vector<int64_t> tgt;      // what the decoder is given
  std::vector<int64_t> targets;  // what it is to say
  int64_t src_tokens = 0;        // that are no padding
  int64_t tgt_tokens = 0;
};

/// Random sequences. `copy`: the target is the source, one step on (The
/// Annotated Transformer's data); elsewhere both are independent.
Seq2SeqBatch make_batch(const Seq2SeqWorkload& workload, uint64_t seed);

/// The batches that training goes through again and again.
std::vector<Seq2SeqBatch> training_batches(const Seq2SeqWorkload& workload);

/// Random ids, [batch, length + 1].
std::vector<int64_t> gpt_ids(const GptWorkload& workload);

/// Greedy decoding, kDecodingSteps tokens after token 1 whatever they are, with
/// the model of `small` and sources of full length.
Seq2SeqWorkload decoding_workload(int64_t batch);
constexpr uint64_t kDecodingSeed = 5;  // of the sources
constexpr int64_t kDecodingSteps = 32;

/// Decoding of kDecodingSteps tokens a sentence, whatever they are, with a beam
/// of hypotheses; sources of full length.
struct SearchWorkload {
  Seq2SeqWorkload model;
  int64_t beam_size;

  std::string name() const;
};

/// Reads "decode:multi30k,beam=5,batch=32": the model's name (multi30k is a
/// small one for real sentences: 10,000 subwords, 4 + 4 layers, d_model 128), 1
/// for greedy decoding, sentences at a time. Throws std::invalid_argument for
/// another form and for numbers that are not positive.
SearchWorkload search_workload(const std::string& name);

/// Forward and backward of one causal encoder layer, post-norm, ReLU, without
/// dropout; the input wants a gradient too.
struct ScalingWorkload {
  int64_t d_model;
  int64_t length;
  int64_t batch;

  int64_t d_ff() const { return 4 * d_model; }
  int64_t num_heads() const { return d_model <= 64 ? 1 : d_model / 64; }
  std::string name() const;
};

/// Reads "scaling:d=256,T=64,B=32": d_model, length, batch. Throws
/// std::invalid_argument for another form and for sizes that are not positive.
ScalingWorkload scaling_workload(const std::string& name);

}  // namespace bench
