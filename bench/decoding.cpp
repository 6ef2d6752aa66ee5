#include <heed/heed.h>

#include "bench/figures.h"
#include "bench/measurements.h"
#include "bench/seq2seq_model.h"

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
  report_decoding("kvcache", batch, decode, settings, report);
}

void measure_search(
    const SearchWorkload& workload,
    const Settings& settings,
    const Report& report) {
  const Seq2SeqWorkload& sizes = workload.model;
  heed::manual_seed(1);
  heed::Transformer model(
      sizes.vocabulary, sizes.vocabulary, model_options(sizes));
  const heed::Tensor src =
      to_tensors(sizes, make_batch(sizes, kDecodingSeed)).src;
  const int64_t eos = 2;
  const auto decode = [&] {
    if (workload.beam_size == 1) {
      heed::greedy_decode(
          model,
          src,
          {.eos_id = eos, .max_length = kDecodingSteps, .banned_ids = {eos}});
    } else {
      heed::beam_search(
          model,
          src,
          {.eos_id = eos,
           .beam_size = workload.beam_size,
           .max_length = kDecodingSteps,
           .banned_ids = {eos}});
    }
  };
  report_search(workload, "kvcache", decode, settings, report);
}

}  // namespace bench
