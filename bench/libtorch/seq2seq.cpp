#include "bench/libtorch/seq2seq_model.h"
#include "bench/measurements.h"
#include "bench/training_loop.h"

namespace bench {

void measure_seq2seq(
    const Seq2SeqWorkload& workload,
    const Settings& settings,
    const Report& report) {
  namespace F = torch::nn::functional;
  torch::manual_seed(1);
  const auto model = make_model(workload, settings.impl);
  auto parameters = model->parameters();
  torch::optim::Adam optimizer(
      parameters,
      torch::optim::AdamOptions(workload.lr()).betas({0.9, 0.98}).eps(1e-9));

  std::vector<Seq2SeqTensors> batches;
  double tokens = 0;
  for (const Seq2SeqBatch& batch : training_batches(workload)) {
    batches.push_back(to_tensors(workload, batch));
    tokens += static_cast<double>(batch.tgt_tokens);
  }
  int64_t num_parameters = 0;
  for (const Tensor& parameter : parameters) {
    num_parameters += parameter.numel();
  }

  size_t next = 0;
  Tensor loss;
  const auto forward = [&] {
    const Seq2SeqTensors& batch = batches[next++ % batches.size()];
    const Tensor memory = model->encode(batch.src, batch.src_padding);
    const Tensor decoded =
        model->decode(memory, batch.src_padding, batch.tgt, batch.tgt_padding);
    loss = F::cross_entropy(
        model->project(decoded).view({-1, workload.vocabulary}),
        model->in_order(batch.targets),
        F::CrossEntropyFuncOptions().ignore_index(0).label_smoothing(
            workload.label_smoothing));
    return loss.item<double>();
  };
  const auto backward = [&] {
    if (settings.impl == "lean") {
      // zero_grad() of libtorch 1.13 fills gradients with zeros instead.
      for (Tensor& parameter : parameters) {
        parameter.mutable_grad() = Tensor();
      }
    } else {
      optimizer.zero_grad();
    }
    loss.backward();
    loss = Tensor();
  };
  measure_training(
      {.workload = workload.name,
       .impl = settings.impl,
       .forward = forward,
       .backward = backward,
       .update = [&] { optimizer.step(); },
       .parameters = num_parameters,
       .tokens = tokens / static_cast<double>(batches.size())},
      settings,
      report);
}

}  // namespace bench
