#include "examples/translate/trainer.h"

#include <heed/autograd/cross_entropy.h>
#include <heed/autograd/elementwise.h>
#include <heed/optim/checkpoint.h>
#include <heed/optim/clipping.h>
#include <heed/optim/model_average.h>
#include <heed/tensor/generator.h>
#include <heed/tensor/memory.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <tuple>

#include "examples/translate/curves.h"
#include "examples/translate/model_folder.h"
#include "examples/translate/stop_signal.h"
#include "examples/translate/translator.h"

namespace translate {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr int64_t kLogEvery = 50;  // updates between records of the loss
// Updates between evaluations, however short an epoch is.
constexpr int64_t kEvaluateApart = 100;
// A checkpoint at least so often: what a kill may cost.
constexpr std::chrono::minutes kSaveEvery{5};

std::vector<Pair> short_enough(std::vector<Pair> pairs, int64_t max_tokens) {
  const size_t count = pairs.size();
  const auto limit = static_cast<size_t>(max_tokens) + 1;  // and kEosId
  std::erase_if(pairs, [limit](const Pair& pair) {
    return pair.src.size() > limit || pair.tgt.size() > limit + 1;
  });
  if (pairs.empty()) {
    heed::fail(
        "translate train",
        "--max-tokens must leave a pair, got ",
        max_tokens,
        " for ",
        count,
        " pairs");
  }
  return pairs;
}

// What no translation would be longer than, see run.
std::vector<Pair> cut_short(std::vector<Pair> pairs) {
  for (Pair& pair : pairs) {
    for (Ids* ids : {&pair.src, &pair.tgt}) {
      ids->resize(std::min<size_t>(ids->size(), kMaxSourceTokens));
    }
  }
  return pairs;
}

heed::Schedule schedule_of(const TrainingSettings& s) {
  if (s.schedule == "noam") {
    return heed::Schedule::noam(s.architecture.d_model, s.warmup_steps, s.lr);
  }
  if (s.schedule == "cosine") {
    return heed::Schedule::cosine(
        s.lr, 0, s.steps, {.warmup_steps = std::min(s.warmup_steps, s.steps)});
  }
  if (s.schedule == "constant") {
    return heed::Schedule::constant(s.lr, {.warmup_steps = s.warmup_steps});
  }
  return heed::Schedule::inverse_sqrt(s.lr, s.warmup_steps);
}

heed::AdamOptions adam_options(const TrainingSettings& s) {
  return {
      .lr = s.lr,
      .betas = {s.beta1, s.beta2},
      .eps = s.eps,
      .weight_decay = s.weight_decay};
}

void check_finite(const char* what, double value, int64_t step) {
  if (!std::isfinite(value)) {
    heed::fail<std::runtime_error>(
        "translate train",
        what,
        " must be finite, got ",
        value,
        " in update ",
        step,
        "; a lower --lr or --max-norm 1 may help");
  }
}

// By what a person would choose: translations first, then the loss.
bool is_better(const Score& a, const Score& b) {
  return std::tuple(a.bleu, -a.loss) > std::tuple(b.bleu, -b.loss);
}

std::string shown(const Score& score) {
  char text[120];
  std::snprintf(
      text,
      sizeof text,
      "loss %.4f  perplexity %.2f  BLEU %.2f  exact %.1f %%",
      score.loss,
      score.perplexity(),
      score.bleu,
      100 * score.exact_match);
  return text;
}

}  // namespace

Trainer::Trainer(
    const TrainingSettings& settings,
    TranslationModel& model,
    const Dataset& data)
    : settings_(settings),
      model_(model),
      data_(data),
      train_pairs_(short_enough(
          encode(*model.vocabulary, data.train), settings.max_tokens)),
      valid_pairs_(cut_short(encode(*model.vocabulary, data.valid))),
      batches_(train_pairs_, settings.batch_tokens, settings.seed),
      optimizer_(model.transformer.parameters(), adam_options(settings)),
      schedule_(schedule_of(settings)) {}

std::string Trainer::path(const std::string& name) const {
  return (fs::path(settings_.model) / name).string();
}

double Trainer::seconds() const {
  return seconds_before_ +
         std::chrono::duration<double>(Clock::now() - start_).count();
}

bool Trainer::is_done() const {
  return step_ >= settings_.steps || is_out_of_time() || is_out_of_patience();
}

bool Trainer::is_out_of_time() const {
  return settings_.minutes > 0 && seconds() >= 60 * settings_.minutes;
}

bool Trainer::is_out_of_patience() const {
  return settings_.patience > 0 &&
         evaluations_since_best_ >= settings_.patience;
}

// One optimizer step on the mean over the tokens of all its batches; returns
// the loss a token.
double Trainer::update() {
  std::vector<Batch> parts;
  int64_t tokens = 0;
  for (int64_t i = 0; i < settings_.accumulate; ++i) {
    parts.push_back(batches_.next());
    tokens += parts.back().tokens;
  }
  optimizer_.zero_grad();
  double sum = 0;
  for (const Batch& part : parts) {
    const heed::Variable mean = heed::cross_entropy(
        model_.transformer(part.src, part.tgt),
        part.targets,
        {.ignore_index = kPadId, .label_smoothing = settings_.label_smoothing});
    const auto share =
        static_cast<double>(part.tokens) / static_cast<double>(tokens);
    (mean * share).backward();
    sum += mean.item<double>() * static_cast<double>(part.tokens);
  }
  check_finite("the loss", sum, step_ + 1);
  const double norm = heed::clip_grad_norm(
      optimizer_.parameters(),
      settings_.max_norm > 0 ? settings_.max_norm : INFINITY);
  check_finite("the gradient's norm", norm, step_ + 1);
  optimizer_.set_lr(schedule_.lr(step_ + 1));
  optimizer_.step();
  ++step_;
  tokens_ += tokens;
  batch_tokens_done_ = tokens;
  loss_sum_ += sum;
  loss_tokens_ += tokens;
  return sum / static_cast<double>(tokens);
}

bool Trainer::evaluation_due() {
  if (step_ >= settings_.steps) {
    return true;
  }
  if (settings_.eval_every > 0) {
    return step_ % settings_.eval_every == 0;
  }
  const int64_t epochs =
      batches_.epoch() +
      (batches_.position() == batches_.batches_per_epoch() ? 1 : 0);
  const bool due =
      epochs > evaluated_epochs_ && step_ - evaluated_step_ >= kEvaluateApart;
  if (due) {
    evaluated_epochs_ = epochs;
  }
  return due;
}

Score Trainer::measure() {
  const Score valid =
      score(model_, data_.valid, valid_pairs_, settings_.batch_tokens);
  check_finite("the validation loss", valid.loss, step_);
  return valid;
}

void Trainer::evaluate(examples::Progress& progress) {
  const Score valid = measure();
  const bool better = best_step_ == 0 || is_better(valid, best_);
  progress.print(
      "step " + std::to_string(step_) + "  " + shown(valid) +
      (better ? "  best so far" : ""));
  log_->add(
      {{"step", step_},
       {"epoch", batches_.epoch()},
       {"train_loss",
        loss_sum_ / static_cast<double>(std::max<int64_t>(loss_tokens_, 1))},
       {"valid_loss", valid.loss},
       {"valid_perplexity", valid.perplexity()},
       {"valid_bleu", valid.bleu},
       {"valid_exact_match", valid.exact_match},
       {"train_tokens_per_s",
        static_cast<double>(tokens_) / std::max(training_seconds_, 1e-9)},
       {"memory_bytes", heed::memory_stats().live_bytes},
       {"seconds", seconds()}});
  loss_sum_ = 0;
  loss_tokens_ = 0;
  evaluated_step_ = step_;
  keep(valid);
  // While the rate still rises, scores are no reason to give up.
  evaluations_since_best_ += step_ > settings_.warmup_steps ? 1 : 0;
  if (better) {
    best_ = valid;
    best_step_ = step_;
    evaluations_since_best_ = 0;
    save_weights(path(kWeightsFile), model_, {step_, valid});
  }
  draw_curves(path(kCurvesFile), log_->records(), settings_.label_smoothing);
  save_checkpoint();
  remove_unkept();
}

// Among the kept ones are the best, or the last, as many as were asked for.
void Trainer::keep(const Score& valid) {
  if (settings_.keep > 1) {
    fs::create_directories(path(kKeptFolder));
    heed::save_checkpoint(
        heed::checkpoint_path(path(kKeptFolder), step_),
        {.model = model_.transformer.state_dict(), .step = step_});
    kept_.push_back({step_, valid});
  }
  forget_surplus();
}

void Trainer::forget_surplus() {
  const auto most =
      static_cast<size_t>(settings_.keep > 1 ? settings_.keep : 0);
  while (kept_.size() > most) {
    const auto worst =
        settings_.average == "last"
            ? kept_.begin()
            : std::min_element(
                  kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) {
                    return is_better(b.valid, a.valid);
                  });
    kept_.erase(worst);
  }
}

// What the checkpoint does not speak of any more.
void Trainer::remove_unkept() const {
  for (const std::string& file : heed::checkpoints_in(path(kKeptFolder))) {
    const bool kept =
        std::any_of(kept_.begin(), kept_.end(), [&](const Kept& one) {
          return file == heed::checkpoint_path(path(kKeptFolder), one.step);
        });
    if (!kept) {
      fs::remove(file);
    }
  }
}

// Once in a while, the mean since the last time.
void Trainer::log_loss(double loss) {
  logged_loss_sum_ += loss;
  ++logged_updates_;
  if (step_ % kLogEvery == 0) {
    log_->add(
        {{"step", step_},
         {"epoch", batches_.epoch()},
         {"loss", logged_loss_sum_ / static_cast<double>(logged_updates_)},
         {"lr", optimizer_.lr()}});
    logged_loss_sum_ = 0;
    logged_updates_ = 0;
  }
}

void Trainer::start() {
  if (saved_ == Clock::time_point()) {
    save_checkpoint();
  }
}

TrainingResult Trainer::run() {
  const StopSignal stop;
  log_ = std::make_unique<TrainingLog>(path(kLogFile), step_);
  start_ = Clock::now();
  examples::Progress progress(settings_.steps, step_);
  if (step_ == 0) {
    start();
  }
  saved_ = start_;
  while (!is_done() && StopSignal::received() == 0) {
    const Clock::time_point begin = Clock::now();
    const double loss = update();
    training_seconds_ +=
        std::chrono::duration<double>(Clock::now() - begin).count();
    progress.update(step_, loss, optimizer_.lr(), batch_tokens_done_);
    log_loss(loss);
    if (evaluation_due()) {
      evaluate(progress);
    } else if (Clock::now() - saved_ > kSaveEvery) {
      save_checkpoint();
    }
  }
  TrainingResult result{
      .steps = step_,
      .seconds = seconds(),
      .tokens_per_second =
          static_cast<double>(tokens_) / std::max(training_seconds_, 1e-9),
      .valid = best_,
      .stopped_by = StopSignal::received()};
  if (result.stopped_by != 0) {
    save_checkpoint();
  } else {
    finish(progress);
    result.valid = best_;
    result.seconds = seconds();
  }
  return result;
}

void Trainer::finish(examples::Progress& progress) {
  if (best_step_ == 0 || evaluated_step_ != step_) {
    evaluate(progress);  // the minutes were over between two evaluations
  }
  if (step_ < settings_.steps) {
    progress.print(
        is_out_of_patience()
            ? "ends here: " + std::to_string(settings_.patience) +
                  " evaluations without a better one (--patience)"
            : "ends here: the time is over (--minutes)");
  }
  load_weights(path(kWeightsFile), model_);
  if (kept_.size() < 2) {
    return;
  }
  std::vector<std::string> files;
  for (const Kept& kept : kept_) {
    files.push_back(heed::checkpoint_path(path(kKeptFolder), kept.step));
  }
  model_.transformer.load_state_dict(heed::average_models(files));
  const Score valid = measure();
  progress.print(
      "average of " + std::to_string(kept_.size()) + "  " + shown(valid));
  if (is_better(valid, best_)) {
    best_ = valid;
    save_weights(path(kWeightsFile), model_, {step_, valid});
  } else {
    load_weights(path(kWeightsFile), model_);
  }
}

void Trainer::save_checkpoint() {
  Json kept = Json::array();
  for (const Kept& one : kept_) {
    kept.push_back({{"step", one.step}, {"valid", to_json(one.valid)}});
  }
  const Json state = {
      {"evaluated_step", evaluated_step_},
      {"evaluated_epochs", evaluated_epochs_},
      {"evaluations_since_best", evaluations_since_best_},
      {"best", to_json(best_)},
      {"best_step", best_step_},
      {"kept", kept},
      {"batches_per_epoch", batches_.batches_per_epoch()},
      {"loss_sum", loss_sum_},
      {"loss_tokens", loss_tokens_},
      {"logged_loss_sum", logged_loss_sum_},
      {"logged_updates", logged_updates_},
      {"tokens", tokens_},
      {"training_seconds", training_seconds_},
      {"seconds", seconds()}};
  heed::save_checkpoint(
      path(kCheckpointFile),
      {.model = model_.transformer.state_dict(),
       .optimizer = optimizer_.state_dict(),
       .generators = {{"dropout", heed::default_generator().state()}},
       .step = step_,
       .epoch = batches_.epoch(),
       .position = batches_.position(),
       .texts = {{"state", state.dump()}}});
  saved_ = Clock::now();
}

void Trainer::resume() {
  const std::string file = path(kCheckpointFile);
  if (!fs::exists(file)) {
    heed::fail<std::runtime_error>(
        settings_.model,
        "must hold a checkpoint to go on from, got none: nothing was learnt; "
        "--overwrite starts anew");
  }
  const heed::Checkpoint from = heed::load_checkpoint(file);
  try {
    const Json state = Json::parse(from.texts.at("state"));
    model_.transformer.load_state_dict(from.model);
    optimizer_.load_state_dict(from.optimizer);
    heed::default_generator().set_state(from.generators.at("dropout"));
    step_ = from.step;
    batches_.go_to(from.epoch, 0);
    if (state.value("batches_per_epoch", batches_.batches_per_epoch()) ==
        batches_.batches_per_epoch()) {
      batches_.go_to(from.epoch, from.position);
    } else {  // another --batch-tokens or another text
      batches_.go_to(from.epoch + 1, 0);
    }
    evaluated_step_ = state.at("evaluated_step").get<int64_t>();
    evaluated_epochs_ = state.at("evaluated_epochs").get<int64_t>();
    evaluations_since_best_ = state.at("evaluations_since_best").get<int64_t>();
    best_ = score_from(state.at("best"));
    best_step_ = state.at("best_step").get<int64_t>();
    kept_.clear();
    for (const Json& one : state.at("kept")) {
      kept_.push_back(
          {one.at("step").get<int64_t>(), score_from(one.at("valid"))});
    }
    forget_surplus();  // --keep may be less than it was
    loss_sum_ = state.at("loss_sum").get<double>();
    loss_tokens_ = state.at("loss_tokens").get<int64_t>();
    // Models of an earlier day do not have these two.
    logged_loss_sum_ = state.value("logged_loss_sum", 0.0);
    logged_updates_ = state.value("logged_updates", int64_t{0});
    tokens_ = state.at("tokens").get<int64_t>();
    training_seconds_ = state.at("training_seconds").get<double>();
    seconds_before_ = state.at("seconds").get<double>();
  } catch (const std::exception& error) {
    heed::fail<std::runtime_error>(file, error.what());
  }
}

}  // namespace translate
