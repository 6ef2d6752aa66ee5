#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/translate/architecture.h"

namespace translate {

/// Everything that `translate train` can be told.
struct TrainingSettings {
  std::string preset;
  std::string task = "numbers";  ///< numbers, dates, reverse: made up here.
  // Or a parallel text of one's own.
  std::string src, tgt;
  std::string valid_src, valid_tgt;
  std::string vocabulary = "subwords";  ///< subwords or words
  int64_t vocab_size = 8000;
  int64_t max_tokens = 100;  ///< Longer training pairs are left out.

  Architecture architecture;

  int64_t steps = 100'000;
  double minutes = 0;  ///< 0: no limit.
  int64_t batch_tokens = 4096;
  int64_t accumulate = 1;  ///< Batches an update.
  /// noam, inverse-sqrt, cosine or constant.
  std::string schedule = "inverse-sqrt";
  double lr = 1e-3;  ///< The highest rate; with noam, the factor.
  int64_t warmup_steps = 4000;
  double beta1 = 0.9;
  double beta2 = 0.98;
  double eps = 1e-9;
  double weight_decay = 0;
  double max_norm = 0;  ///< Of the gradient; 0: not clipped.
  double label_smoothing = 0.1;

  int64_t eval_every = 0;  ///< Updates; 0: once an epoch, or more rarely.
  /// Evaluations, after the warm-up, without a better one; 0: any.
  int64_t patience = 10;
  int64_t keep = 5;              ///< Weights kept and averaged.
  std::string average = "best";  ///< Which ones: best or last.
  double goal = 0;  ///< Share of test lines exactly right, or status 1.

  uint64_t seed = 1;
  int threads = 0;  ///< 0: heed's own choice.
  std::string model = "translate_model";
  std::string json;
  bool overwrite = false;
  bool resume = false;

  bool is_toy() const { return src.empty(); }
};

/// The names of all presets, and for whom each is.
std::vector<std::pair<std::string, std::string>> preset_list();

/// Throws std::invalid_argument for a name that is not in preset_list().
TrainingSettings preset_settings(const std::string& name);

/// Sets how long the made-up task is learnt, and the goal where there is one.
void adapt_to_task(TrainingSettings& settings, const std::string& task);

/// Throws std::invalid_argument for settings that contradict each other.
void check(const TrainingSettings& settings);

}  // namespace translate
