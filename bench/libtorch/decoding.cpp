#include <stdexcept>
#include <tuple>

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

/// As above, with the likeliest beam_size hypotheses of each sentence.
void search_again_and_again(
    Seq2SeqModel& model, const Tensor& src, int64_t beam_size, int64_t steps) {
  const int64_t batch = src.size(0);
  const bool batch_first = dynamic_cast<LeanModel*>(&model) != nullptr;
  const Tensor memory =
      model.encode(src, {}).repeat_interleave(beam_size, batch_first ? 0 : 1);
  const Tensor first = torch::arange(batch).unsqueeze(1) * beam_size;
  Tensor tokens = torch::ones({batch * beam_size, 1}, torch::kLong);
  Tensor scores = torch::full({batch, beam_size}, -1e30);
  scores.select(1, 0).zero_();  // all hypotheses are one to begin with
  for (int64_t step = 0; step < steps; ++step) {
    const Tensor decoded = model.decode(memory, {}, tokens, {});
    const Tensor log_probs =
        model.project(model.last_position(decoded)).log_softmax(-1);
    const int64_t vocabulary = log_probs.size(1);
    const Tensor all =
        scores.unsqueeze(2) + log_probs.view({batch, beam_size, vocabulary});
    Tensor best;
    std::tie(scores, best) = all.flatten(1).topk(beam_size, 1);
    const Tensor rows = first + best.div(vocabulary, "floor");
    tokens = at::cat(
        {tokens.index_select(0, rows.flatten()),
         best.remainder(vocabulary).view({-1, 1})},
        1);
  }
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
  // Where two tokens are as likely, rounding may choose either.
  const Tensor alike =
      decode().eq(decode_again_and_again(*model, src, kDecodingSteps)).all(1);
  if (alike.to(torch::kFloat32).mean().item<float>() < 0.9f) {
    throw std::logic_error("decoding with caches gave other tokens");
  }
  report_decoding(
      lean != nullptr ? "lean-kvcache" : "nn-rerun",
      batch,
      decode,
      settings,
      report);
}

void measure_search(
    const SearchWorkload& workload,
    const Settings& settings,
    const Report& report) {
  torch::manual_seed(1);
  const auto model = make_model(workload.model, settings.impl);
  model->eval();
  const torch::NoGradGuard no_grad;
  const Tensor src =
      to_tensors(workload.model, make_batch(workload.model, kDecodingSeed)).src;
  const auto decode = [&] {
    if (workload.beam_size == 1) {
      decode_again_and_again(*model, src, kDecodingSteps);
    } else {
      search_again_and_again(*model, src, workload.beam_size, kDecodingSteps);
    }
  };
  report_search(workload, settings.impl + "-rerun", decode, settings, report);
}

}  // namespace bench
