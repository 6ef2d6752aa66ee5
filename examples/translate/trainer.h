#pragma once

#include <heed/optim/adam.h>
#include <heed/optim/schedule.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "examples/progress.h"
#include "examples/translate/batches.h"
#include "examples/translate/score.h"
#include "examples/translate/training_log.h"
#include "examples/translate/training_settings.h"
#include "examples/translate/translation_model.h"

namespace translate {

/// What a training run came to.
struct TrainingResult {
  int64_t steps = 0;
  double seconds = 0;            ///< Of all runs that it was resumed from, too.
  double tokens_per_second = 0;  ///< Of the target, evaluations left out.
  Score valid;                   ///< Of the weights that the model now has.
  int stopped_by = 0;            ///< A signal, or 0 when it came to its end.
};

/// One training run: batches, updates, evaluations, files. What it needs to go
/// on is in the model's folder from the start, after each evaluation, every few
/// minutes and when it is stopped.
class Trainer {
 public:
  /// All must outlive this. Throws std::invalid_argument when no training pair
  /// is left that is short enough.
  Trainer(
      const TrainingSettings& settings,
      TranslationModel& model,
      const Dataset& data);

  /// The training pairs that are short enough.
  size_t num_pairs() const { return train_pairs_.size(); }

  /// Gives the folder its first checkpoint; run() does so otherwise.
  void start();
  /// Goes on from the folder's checkpoint: bit for bit as if the run had never
  /// stopped. Throws std::runtime_error when there is none, or none that fits.
  void resume();

  /// Trains until the steps, the minutes or the patience are at an end, or a
  /// signal comes. Then, unless stopped by one, the model has the best weights,
  /// or the average of those kept where that is better. Throws
  /// std::runtime_error when a loss or a gradient is not finite; what is in the
  /// folder then is from before.
  TrainingResult run();

 private:
  using Clock = std::chrono::steady_clock;
  /// Weights that are kept to be averaged.
  struct Kept {
    int64_t step;
    Score valid;
  };

  bool is_done() const;
  bool is_out_of_time() const;
  bool is_out_of_patience() const;
  double update();
  bool evaluation_due();
  Score measure();
  void evaluate(examples::Progress& progress);
  void log_loss(double loss);
  void keep(const Score& valid);
  void forget_surplus();
  void remove_unkept() const;
  void save_checkpoint();
  void finish(examples::Progress& progress);
  std::string path(const std::string& name) const;
  double seconds() const;

  const TrainingSettings& settings_;
  TranslationModel& model_;
  const Dataset& data_;
  const std::vector<Pair> train_pairs_;
  const std::vector<Pair> valid_pairs_;
  Batches batches_;
  heed::Adam optimizer_;
  const heed::Schedule schedule_;
  std::unique_ptr<TrainingLog> log_;

  // What changes from step to step, besides batches_ and optimizer_.
  int64_t step_ = 0;
  int64_t evaluated_step_ = 0;    // of the last evaluation
  int64_t evaluated_epochs_ = 0;  // finished ones
  int64_t evaluations_since_best_ = 0;
  Score best_;
  int64_t best_step_ = 0;  // 0: none yet
  std::vector<Kept> kept_;
  // Since the last evaluation.
  double loss_sum_ = 0;
  int64_t loss_tokens_ = 0;
  // Since the last record of the loss.
  double logged_loss_sum_ = 0;
  int64_t logged_updates_ = 0;
  // Over the whole run.
  int64_t tokens_ = 0;
  double training_seconds_ = 0;
  double seconds_before_ = 0;  // of earlier runs
  Clock::time_point start_ = Clock::now();
  int64_t batch_tokens_done_ = 0;  // target tokens of the last update
  Clock::time_point saved_ = {};   // the checkpoint; the epoch: not yet
};

}  // namespace translate
