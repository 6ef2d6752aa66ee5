// A small training run that stops and goes on, for checkpoint_test.cpp:
//
//   heed_resumable_training CHECKPOINT STEPS EVERY
//
// goes on from CHECKPOINT, if there is one, to STEPS updates, and saves it at
// the end and every EVERY updates. Each update is a line of standard output:
// the update, the pass through the data and the position in it, the sample that
// comes first, the rate and the loss.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>

#include "autograd/cross_entropy.h"
#include "nn/transformer.h"
#include "optim/adam.h"
#include "optim/checkpoint.h"
#include "optim/schedule.h"
#include "tensor/indexing.h"
#include "tensor/random.h"

using namespace heed;

namespace {

constexpr int64_t kSamples = 24;
constexpr int64_t kBatch = 4;
constexpr int64_t kVocabulary = 12;

/// Dropout, an order drawn anew for each pass, and Noam's rates: all that is
/// lost when a run does not keep it.
class Run {
 public:
  explicit Run(const std::string& path) : path_(path) {
    if (std::filesystem::exists(path)) {
      const Checkpoint from = load_checkpoint(path);
      model_.load_state_dict(from.model);
      optimizer_.load_state_dict(from.optimizer);
      default_generator().set_state(from.generators.at("dropout"));
      shuffle_.set_state(from.generators.at("shuffle"));
      epoch_ = from.epoch;
      position_ = from.position;
    }
    draw_order();
  }

  int64_t steps() const { return optimizer_.steps(); }

  void step() {
    if (position_ == kSamples) {
      ++epoch_;
      position_ = 0;
      draw_order();
    }
    const Tensor ids = order_.slice(0, position_, position_ + kBatch);
    const Tensor batch = index_select(samples_, 0, ids);  // [B, T]
    position_ += kBatch;
    const double lr = schedule_.lr(steps() + 1);

    optimizer_.zero_grad();
    const Variable loss = cross_entropy(
        model_.forward(batch, batch.slice(1, 0, -1)), batch.slice(1, 1, 99));
    loss.backward();
    optimizer_.set_lr(lr);
    optimizer_.step();
    std::printf(
        "%d %d %d %d %a %a\n",
        static_cast<int>(steps()),
        static_cast<int>(epoch_),
        static_cast<int>(position_),
        static_cast<int>(ids[0].item<int64_t>()),
        lr,
        loss.item<double>());
    std::fflush(stdout);
  }

  void save() const {
    save_checkpoint(
        path_,
        {.model = model_.state_dict(),
         .optimizer = optimizer_.state_dict(),
         .generators =
             {{"dropout", default_generator().state()},
              {"shuffle", before_order_}},
         .step = steps(),
         .epoch = epoch_,
         .position = position_,
         .texts = {{"options", "d_model = 16"}}});
  }

 private:
  void draw_order() {
    before_order_ = shuffle_.state();
    order_ = randperm(kSamples, shuffle_);
  }

  static Tensor make_samples() {
    Generator generator(1);
    return randint(1, kVocabulary, {kSamples, 6}, kInt64, generator);
  }

  const std::string path_;
  const Tensor samples_ = make_samples();
  Transformer model_{
      kVocabulary,
      kVocabulary,
      {.num_encoder_layers = 1,
       .num_decoder_layers = 1,
       .d_model = 16,
       .num_heads = 2,
       .d_ff = 32,
       .dropout = 0.2}};
  Adam optimizer_{model_.parameters(), {.betas = {0.9, 0.98}, .eps = 1e-9}};
  const Schedule schedule_ = Schedule::noam(16, 8);
  Generator shuffle_{3};
  GeneratorState before_order_;
  Tensor order_;
  int64_t epoch_ = 0;
  int64_t position_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s CHECKPOINT STEPS EVERY\n", argv[0]);
    return 2;
  }
  try {
    Run run(argv[1]);
    const int64_t steps = std::atoll(argv[2]);
    const int64_t every = std::atoll(argv[3]);
    while (run.steps() < steps) {
      run.step();
      if (run.steps() % every == 0 || run.steps() == steps) {
        run.save();
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
