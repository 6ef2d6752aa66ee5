#include "nn/greedy_decoding.h"

#include "nn/evaluation.h"
#include "tensor/creation.h"
#include "tensor/reduction.h"

namespace heed {

std::vector<std::vector<int64_t>> greedy_decode(
    Transformer& model,
    const Tensor& src,
    const GreedyDecodingOptions& options) {
  const auto check_id = [&](const char* name, int64_t id) {
    if (id < 0 || id >= model.tgt_vocab_size()) {
      fail(
          "greedy_decode",
          name,
          " must be in [0, ",
          model.tgt_vocab_size(),
          "), got ",
          id);
    }
  };
  check_id("bos_id", options.bos_id);
  check_id("eos_id", options.eos_id);
  if (options.max_length < 0) {
    fail("greedy_decode", "max_length must be >= 0, got ", options.max_length);
  }
  const Evaluation evaluation(model);
  DecodingState state = model.start_decoding(src);
  const int64_t batch = src.size(0);
  std::vector<std::vector<int64_t>> sequences(static_cast<size_t>(batch));
  std::vector<bool> ended(static_cast<size_t>(batch), false);
  int64_t running = batch;
  Tensor tokens = full({batch}, options.bos_id, kInt64);
  for (int64_t step = 0; step < options.max_length && running > 0; ++step) {
    tokens = argmax(model.decode_step(tokens, state), -1);  // [B]
    const int64_t* next = tokens.data<int64_t>();
    for (size_t b = 0; b < sequences.size(); ++b) {
      if (ended[b]) {
        continue;
      }
      if (next[b] == options.eos_id) {
        ended[b] = true;
        --running;
      } else {
        sequences[b].push_back(next[b]);
      }
    }
  }
  return sequences;
}

}  // namespace heed
