#include <heed/heed.h>

#include <string>

#include "bench/measurements.h"
#include "bench/seq2seq_model.h"
#include "bench/timing.h"

namespace bench {

void measure_decoding(
    int64_t batch, const Settings& settings, const Report& report) {
  const Seq2SeqWorkload workload = decoding_workload(batch);
  heed::manual_seed(1);
  heed::Transformer model(
      workload.vocabulary, workload.vocabulary, model_options(workload));
  model.eval();
  const heed::Tensor src =
      to_tensors(workload, make_batch(workload, kDecodingSeed)).src;
  const auto decode = [&] {
    heed::DecodingState state = model.start_decoding(src);
    heed::Tensor tokens = heed::full({batch}, 1, heed::kInt64);
    for (int64_t step = 0; step < kDecodingSteps; ++step) {
      tokens = heed::argmax(model.decode_step(tokens, state), -1);
    }
  };
  const Timing timing = time_calls(
      decode,
      {.warmup = 2,
       .min_reps = 5,
       .min_ms = settings.min_ms / 2,
       .max_ms = settings.max_ms});
  report.print(
      "decode" + std::to_string(batch),
      "kvcache",
      timing,
      static_cast<double>(batch * kDecodingSteps));
}

}  // namespace bench
