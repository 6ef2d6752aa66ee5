#include <heed/heed.h>

#include "bench/heed_training.h"
#include "bench/measurements.h"

namespace bench {
namespace {

/// A decoder alone is a causal encoder.
class Gpt : public heed::Module {
 public:
  explicit Gpt(const GptWorkload& workload)
      : embedding_(workload.vocabulary, workload.d_model),
        positions_(workload.length, workload.d_model),
        layers_(
            workload.layers,
            workload.d_model,
            workload.num_heads,
            workload.d_ff,
            {.dropout = 0,
             .activation = heed::ActivationKind::gelu_tanh,
             .norm_first = true}),
        head_(workload.d_model, workload.vocabulary, {.bias = false}) {
    add_module("embedding", embedding_);
    add_module("positions", positions_);
    add_module("layers", layers_);
    add_module("head", head_);
    embedding_.set_weight(
        heed::init::normal(embedding_.weight().shape(), 0, 0.02));
    head_.tie_weight(embedding_.weight());
  }

  /// ids [B, T] -> logits [B, T, vocabulary]
  heed::Variable forward(const heed::Tensor& ids) const {
    const heed::Variable x = positions_.forward(embedding_(ids));
    return head_(layers_.forward(x, {.is_causal = true}));
  }

 private:
  heed::Embedding embedding_;
  heed::LearnedPositionalEncoding positions_;
  heed::TransformerEncoder layers_;
  heed::Linear head_;
};

}  // namespace

void measure_gpt(const Settings& settings, const Report& report) {
  const GptWorkload workload;
  const int64_t length = workload.length;
  heed::manual_seed(1);
  const Gpt model(workload);
  heed::AdamW optimizer(
      model.parameters(),
      {.lr = workload.lr,
       .betas = {0.9, 0.98},
       .eps = 1e-9,
       .weight_decay = 0});

  const heed::Tensor ids =
      heed::from_vector(gpt_ids(workload), {workload.batch, length + 1});
  const heed::Tensor given = ids.slice(1, 0, length).contiguous();
  const heed::Tensor targets = ids.slice(1, 1, length + 1).contiguous();
  const auto loss = [&] {
    return heed::cross_entropy(model.forward(given), targets);
  };
  measure_training(
      heed_training(
          "gpt", model, optimizer, loss, static_cast<double>(targets.numel())),
      settings,
      report);
}

}  // namespace bench
