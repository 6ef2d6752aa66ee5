#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "nn/decoding_state.h"
#include "nn/dropout.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/module.h"
#include "nn/positional_encoding.h"
#include "nn/transformer_decoder.h"
#include "nn/transformer_encoder.h"

namespace heed {

/// The defaults are the paper's base model.
struct TransformerOptions {
  int64_t num_encoder_layers = 6;
  int64_t num_decoder_layers = 6;
  int64_t d_model = 512;
  int64_t num_heads = 8;
  int64_t d_ff = 2048;
  double dropout = 0.1;  ///< Also of embedding + position.
  double attention_dropout = 0;
  double activation_dropout = 0;
  ActivationKind activation = ActivationKind::relu;
  bool norm_first = false;
  std::optional<bool> final_norm = {};  ///< Of both stacks; unset: norm_first.
  double norm_eps = 1e-5;
  bool bias = true;  ///< In the layers.
  /// The id that fills up short sequences: never attended to. None: no id is.
  std::optional<int64_t> pad_id = 0;
  /// Learned positions for sequences up to this length; 0: sinusoidal ones, for
  /// any length.
  int64_t learned_positions = 0;
  /// One embedding for source and target, whose vocabularies must be equal.
  bool tie_source_target = false;
  /// The target embedding's weight serves as output projection too.
  bool tie_output = false;
  bool output_bias = true;
  DType dtype = kFloat32;
  Generator& generator = default_generator();
};

/// What every head of every layer attended to; one entry a layer.
struct AttentionWeights {
  std::vector<Variable> encoder;        ///< [B, num_heads, S, S]
  std::vector<Variable> decoder_self;   ///< [B, num_heads, T, T]
  std::vector<Variable> decoder_cross;  ///< [B, num_heads, T, S]
};

/// The encoder-decoder of "Attention Is All You Need" (Vaswani et al. 2017,
/// arXiv:1706.03762): embeddings times sqrt(d_model) plus positions, both
/// stacks, and a projection to the target vocabulary. The matrices of
/// both stacks start Xavier-uniform, the projection as a Linear does, the
/// embeddings normal and, once scaled, as large as the positions.
///
/// Shape:       src ids int64 [B, S], tgt ids int64 [B, T]
///              -> logits [B, T, tgt_vocab_size]
/// Parameters:  src_embedding, tgt_embedding, encoder, decoder, output_proj,
///              and src_positions, tgt_positions when learned
///
/// The layers compute the tokens alone, packed, without the padding between
/// sequences of unequal length. What comes out at places of padding (memory,
/// logits, attention weights) are zeros, and no gradient flows through them. So
/// a loss must leave these places out (ignore_index), and pad_id must not be
/// what targets begin with.
class Transformer : public Module {
 public:
  /// Throws std::invalid_argument for sizes that are not positive, num_heads
  /// that do not divide d_model, a pad_id that is no id of both vocabularies,
  /// or a tie of different sizes.
  Transformer(
      int64_t src_vocab_size,
      int64_t tgt_vocab_size,
      const TransformerOptions& options = {});

  /// Logits of the token after each of `tgt`, which starts with the beginning
  /// of the sequence. `weights`, if given, gets all attention weights. Throws
  /// std::invalid_argument for ids out of range or batches of unequal size.
  Variable forward(
      const Tensor& src,
      const Tensor& tgt,
      AttentionWeights* weights = nullptr) const;
  Variable operator()(const Tensor& src, const Tensor& tgt) const {
    return forward(src, tgt);
  }

  /// src [B, S] -> memory [B, S, d_model]. Throws as forward().
  Variable encode(const Tensor& src, AttentionWeights* weights = nullptr) const;
  /// tgt [B, T], memory of `src` -> logits [B, T, tgt_vocab_size]. Throws as
  /// forward(), and for a memory of another shape.
  Variable decode(
      const Tensor& tgt,
      const Variable& memory,
      const Tensor& src,
      AttentionWeights* weights = nullptr) const;

  /// Encodes `src` for decode_step; records nothing. Throws as forward().
  DecodingState start_decoding(const Tensor& src) const;
  /// Takes the next token of each row, ids [rows], and returns the logits of
  /// the one after it, [rows, tgt_vocab_size]: the last of forward() over all
  /// tokens so far. Records nothing. Throws std::invalid_argument for ids out
  /// of range or another number of them than rows, and then leaves `state`
  /// alone.
  Tensor decode_step(const Tensor& tokens, DecodingState& state) const;

  const TransformerOptions& options() const { return options_; }
  int64_t tgt_vocab_size() const { return tgt_vocab_size_; }

 private:
  static const TransformerOptions& checked(
      int64_t src_vocab_size,
      int64_t tgt_vocab_size,
      const TransformerOptions& options);
  void initialize();
  Tensor padding_of(const Tensor& ids) const;
  Packing packing_of(const Tensor& ids) const;
  /// [1, N, d_model] of the source, packed as `packing` says.
  Variable encode_packed(
      const Tensor& src,
      const Packing& packing,
      AttentionWeights* weights) const;
  /// From what encode_packed returned to logits [B, T, tgt_vocab_size].
  Variable decode_packed(
      const Tensor& tgt,
      const Variable& memory,
      const Packing& memory_packing,
      AttentionWeights* weights) const;
  Variable embed(
      const Embedding& embedding,
      const PositionalEncoding& positions,
      const Tensor& ids,
      int64_t offset = 0) const;

  TransformerOptions options_;
  int64_t tgt_vocab_size_;
  Embedding src_embedding_;
  Embedding tgt_embedding_;
  std::unique_ptr<PositionalEncoding> src_positions_;
  std::unique_ptr<PositionalEncoding> tgt_positions_;
  Dropout dropout_;
  TransformerEncoder encoder_;
  TransformerDecoder decoder_;
  Linear output_proj_;
};

}  // namespace heed
