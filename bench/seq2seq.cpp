#include <heed/heed.h>

#include <vector>

#include "bench/heed_training.h"
#include "bench/measurements.h"
#include "bench/seq2seq_model.h"

namespace bench {

void measure_seq2seq(
    const Seq2SeqWorkload& workload,
    const Settings& settings,
    const Report& report) {
  heed::manual_seed(1);
  const heed::Transformer model(
      workload.vocabulary, workload.vocabulary, model_options(workload));
  heed::Adam optimizer(
      model.parameters(),
      {.lr = workload.lr(), .betas = {0.9, 0.98}, .eps = 1e-9});

  std::vector<Seq2SeqTensors> batches;
  double tokens = 0;
  for (const Seq2SeqBatch& batch : training_batches(workload)) {
    batches.push_back(to_tensors(workload, batch));
    tokens += static_cast<double>(batch.tgt_tokens);
  }
  size_t next = 0;
  const auto loss = [&] {
    const Seq2SeqTensors& batch = batches[next++ % batches.size()];
    return heed::cross_entropy(
        model(batch.src, batch.tgt),
        batch.targets,
        {.ignore_index = 0, .label_smoothing = workload.label_smoothing});
  };
  measure_training(
      heed_training(
          workload.name,
          model,
          optimizer,
          loss,
          tokens / static_cast<double>(batches.size())),
      settings,
      report);
}

}  // namespace bench
