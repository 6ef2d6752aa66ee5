#pragma once

#include <cstdint>
#include <vector>

#include "nn/transformer_decoder.h"
#include "tensor/tensor.h"

namespace heed {

/// Where a step-by-step decoding stands; made by Transformer::start_decoding.
/// Rows are target sequences, one for each source to begin with.
struct DecodingState {
  std::vector<DecoderLayerCache> layers;
  int64_t batch = 0;            ///< Rows.
  int64_t rows_per_source = 1;  ///< Side by side; they share its memory.
  Tensor memory_padding;  ///< [B, S], true = padding; undefined without pad_id.
  Tensor padding;         ///< [rows, position], likewise; undefined if none is.
  int64_t position = 0;   ///< Of the next token.

  /// Row i goes on as row rows[i] did; sources none of whose rows is named are
  /// forgotten. Throws std::invalid_argument for rows that are not there, and
  /// unless those that stand for one source come from one.
  void select_rows(const std::vector<int64_t>& rows, int64_t rows_per_source);
};

}  // namespace heed
