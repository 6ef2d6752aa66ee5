#include "examples/translate/training_settings.h"

#include <heed/tensor/error.h>

namespace translate {
namespace {

// The made-up tasks: learned within a minute on two cores.
TrainingSettings toy() {
  TrainingSettings s;
  s.architecture = {
      .num_encoder_layers = 2,
      .num_decoder_layers = 2,
      .d_model = 64,
      .num_heads = 4,
      .d_ff = 256,
      .dropout = 0,
      .norm_first = true};
  s.steps = 1000;
  s.batch_tokens = 1536;
  s.schedule = "cosine";
  s.lr = 4e-3;
  s.warmup_steps = 100;
  s.label_smoothing = 0;
  s.max_norm = 1;
  s.eval_every = 250;
  s.patience = 0;
  s.keep = 1;
  return s;
}

TrainingSettings tiny() {
  TrainingSettings s;
  s.architecture = {
      .num_encoder_layers = 2,
      .num_decoder_layers = 2,
      .d_model = 128,
      .num_heads = 4,
      .d_ff = 512,
      .dropout = 0.2};
  s.vocab_size = 4000;
  s.lr = 3e-3;
  s.warmup_steps = 1000;
  return s;
}

TrainingSettings small() {
  TrainingSettings s;
  s.architecture = {
      .num_encoder_layers = 3,
      .num_decoder_layers = 3,
      .d_model = 256,
      .num_heads = 4,
      .d_ff = 1024,
      .dropout = 0.2};
  s.warmup_steps = 2000;
  return s;
}

// Vaswani et al. 2017, table 3.
TrainingSettings base() {
  TrainingSettings s;
  s.architecture = {
      .num_encoder_layers = 6,
      .num_decoder_layers = 6,
      .d_model = 512,
      .num_heads = 8,
      .d_ff = 2048,
      .dropout = 0.1};
  s.vocab_size = 32'000;
  s.schedule = "noam";
  s.lr = 1;
  s.warmup_steps = 4000;
  s.accumulate = 6;  // 25,000 tokens an update
  return s;
}

// The size of Wu et al.'s Transformer-Tiny (2021, arXiv:2105.14462), for 29,000
// pairs; norms before the sub-layers learn faster than behind them.
TrainingSettings multi30k() {
  TrainingSettings s;
  s.architecture = {
      .num_encoder_layers = 4,
      .num_decoder_layers = 4,
      .d_model = 128,
      .num_heads = 4,
      .d_ff = 256,
      .dropout = 0.3,
      .norm_first = true};
  s.vocab_size = 6'000;
  s.lr = 3e-3;
  s.warmup_steps = 1000;
  s.steps = 9000;
  s.minutes = 59;
  s.patience = 0;
  s.keep = 10;
  s.average = "last";
  return s;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> preset_list() {
  return {
      {"toy", "the made-up tasks: 2+2 layers, d_model 64"},
      {"tiny", "some thousand pairs: 2+2 layers, d_model 128"},
      {"small", "some 100,000 pairs: 3+3 layers, d_model 256"},
      {"base", "millions of pairs, the paper's: 6+6 layers, d_model 512"},
      {"multi30k", "29,000 pairs within an hour: 4+4 layers, d_model 128"}};
}

TrainingSettings preset_settings(const std::string& name) {
  TrainingSettings s = name == "toy"        ? toy()
                       : name == "tiny"     ? tiny()
                       : name == "small"    ? small()
                       : name == "base"     ? base()
                       : name == "multi30k" ? multi30k()
                                            : TrainingSettings();
  bool known = false;
  for (const auto& [preset, about] : preset_list()) {
    known = known || preset == name;
  }
  if (!known) {
    heed::fail("translate", "there is no preset \"", name, "\"");
  }
  s.preset = name;
  return s;
}

void adapt_to_task(TrainingSettings& s, const std::string& task) {
  if (task != "numbers" && s.preset == "toy") {
    s.steps = 2000;
  }
  if (task != "reverse") {
    s.goal = 0.99;
  }
}

void check(const TrainingSettings& s) {
  if (s.src.empty() != s.tgt.empty()) {
    heed::fail("translate train", "--src and --tgt must be given together");
  }
  if (s.valid_src.empty() != s.valid_tgt.empty()) {
    heed::fail(
        "translate train",
        "--valid-src and --valid-tgt must be given together");
  }
  if (s.resume && s.overwrite) {
    heed::fail(
        "translate train", "either --resume or --overwrite must be given");
  }
  if (s.src.empty() && !s.valid_src.empty()) {
    heed::fail("translate train", "--valid-src must come with --src");
  }
  if (s.model.empty()) {
    heed::fail("translate train", "--model must name a folder, got nothing");
  }
  for (const std::string& path :
       {s.src, s.tgt, s.valid_src, s.valid_tgt, s.model}) {
    const auto has = [&](char c) { return path.find(c) != std::string::npos; };
    if (has('\n') || (has('"') && has('\''))) {
      heed::fail(
          "translate train",
          "a path must not hold a line break, nor both kinds of quotes");
    }
  }
  if (s.architecture.d_model % s.architecture.num_heads != 0) {
    heed::fail(
        "translate train",
        "--heads must divide --d-model, got ",
        s.architecture.num_heads,
        " and ",
        s.architecture.d_model);
  }
}

}  // namespace translate
