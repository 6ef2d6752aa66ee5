#pragma once

#include <heed/heed.h>

#include "bench/workload.h"

namespace bench {

/// What makes heed::Transformer the workload's model.
heed::TransformerOptions model_options(const Seq2SeqWorkload& workload);

/// A batch as tensors.
struct Seq2SeqTensors {
  heed::Tensor src;      // [B, S]
  heed::Tensor tgt;      // [B, T]
  heed::Tensor targets;  // [B, T]
};
Seq2SeqTensors to_tensors(
    const Seq2SeqWorkload& workload, const Seq2SeqBatch& batch);

}  // namespace bench
