#include <stdexcept>

#include "bench/figures.h"
#include "bench/libtorch/lean_model.h"
#include "bench/measurements.h"

namespace bench {
namespace {

/// Without caches: all of the target goes through the decoder for each token.
Tensor decode_again_and_again(
    Seq2SeqModel& model, const Tensor& src, int64_t steps) {
  const Tensor memory = model.encode(src, {});
  Tensor tokens = torch::ones({src.size(0), 1}, torch::kLong);
  for (int64_t step = 0; step < steps; ++step) {
    const Tensor decoded = model.decode(memory, {}, tokens, {});
    const Tensor logits = model.project(model.last_position(decoded));
    tokens = at::cat({tokens, logits.argmax(-1, true)}, 1);
  }
  return tokens.slice(1, 1);
}

}  // namespace

void measure_decoding(
    int64_t batch, const Settings& settings, const Report& report) {
  const Seq2SeqWorkload workload = decoding_workload(batch);
  torch::manual_seed(1);
  const auto model = make_model(workload, settings.impl);
  model->eval();
  const torch::NoGradGuard no_grad;
  const Tensor src =
      to_tensors(workload, make_batch(workload, kDecodingSeed)).src;
  auto* lean = dynamic_cast<LeanModel*>(model.get());
  const auto decode = [&] {
    return lean != nullptr
               ? lean->decode_greedily(src, kDecodingSteps)
               : decode_again_and_again(*model, src, kDecodingSteps);
  };
  if (!torch::equal(
          decode(), decode_again_and_again(*model, src, kDecodingSteps))) {
    throw std::logic_error("decoding with caches gave other tokens");
  }
  report_decoding(
      lean != nullptr ? "lean-kvcache" : "nn-rerun",
      batch,
      decode,
      settings,
      report);
}

}  // namespace bench
