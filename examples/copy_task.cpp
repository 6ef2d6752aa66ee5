// Trains the Transformer of "Attention Is All You Need" to copy its input, and
// tests it on sequences that it has never seen.
//
//   copy_task                     a small model, sequences of 2 to 20 letters
//   copy_task --preset 2018       the example of The Annotated Transformer
//   copy_task --help              all options
//
// The status is 0 only when the task was learned.
#include <heed/heed.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "examples/heat_map.h"
#include "examples/output_file.h"
#include "examples/progress.h"

namespace {

using heed::Tensor;
using heed::Variable;
using Sequence = std::vector<int64_t>;

constexpr int64_t kPad = 0;

/// What is learned, by which model, how long.
struct Preset {
  std::string name;
  int64_t symbols;     // 1 .. symbols, or the letters behind bos and eos
  int64_t min_length;  // of a sequence
  int64_t max_length;
  // Framed sequences are random letters, the target framed by bos and eos. The
  // others all start with symbol 1 and stand for themselves: given the first
  // symbol, the model continues.
  bool framed;
  heed::TransformerOptions model;
  int64_t batch;
  int64_t steps;
  double peak_lr;  // of warm-up and cosine; 0: Noam with factor 1
  int64_t warmup_steps;
  int64_t eval_sequences;
  double wanted_loss;   // at most
  double wanted_match;  // share of sequences copied exactly, at least

  int64_t bos() const { return 1; }
  int64_t eos() const { return 2; }
  int64_t first_symbol() const { return framed ? 3 : 1; }
  int64_t vocabulary() const { return first_symbol() + symbols; }
};

Preset default_preset() {
  return {
      .name = "default",
      .symbols = 26,
      .min_length = 2,
      .max_length = 20,
      .framed = true,
      .model =
          {.num_encoder_layers = 1,
           .num_decoder_layers = 1,
           .d_model = 64,
           .num_heads = 4,
           .d_ff = 128,
           .dropout = 0,
           .norm_first = true},
      .batch = 64,
      .steps = 900,
      .peak_lr = 5e-3,
      .warmup_steps = 50,
      .eval_sequences = 1000,
      .wanted_loss = 1,
      .wanted_match = 0.999};
}

// The copy example of Rush, "The Annotated Transformer" (2018): 10 epochs of 20
// batches.
Preset preset_2018() {
  return {
      .name = "2018",
      .symbols = 10,
      .min_length = 10,
      .max_length = 10,
      .framed = false,
      .model =
          {.num_encoder_layers = 2,
           .num_decoder_layers = 2,
           .norm_first = true},
      .batch = 30,
      .steps = 10 * 20,
      .peak_lr = 0,
      .warmup_steps = 400,
      .eval_sequences = 300,
      .wanted_loss = 0.27,
      .wanted_match = 0};
}

struct Batch {
  Tensor src;      // [B, S]
  Tensor tgt;      // [B, T], what the decoder is given
  Tensor targets;  // [B, T], what it is to say: tgt one step on
  int64_t tokens;  // of targets that are no padding
};

Tensor padded(const std::vector<Sequence>& rows) {
  size_t length = 0;
  for (const Sequence& row : rows) {
    length = std::max(length, row.size());
  }
  Sequence ids;
  for (const Sequence& row : rows) {
    ids.insert(ids.end(), row.begin(), row.end());
    ids.resize(ids.size() + length - row.size(), kPad);
  }
  return heed::from_vector(
      ids, {static_cast<int64_t>(rows.size()), static_cast<int64_t>(length)});
}

Batch make_batch(const Preset& preset, const std::vector<Sequence>& sequences) {
  std::vector<Sequence> given;
  std::vector<Sequence> wanted;
  Batch batch{.src = padded(sequences), .tgt = {}, .targets = {}, .tokens = 0};
  for (const Sequence& sequence : sequences) {
    Sequence whole = sequence;
    if (preset.framed) {
      whole.insert(whole.begin(), preset.bos());
      whole.push_back(preset.eos());
    }
    given.emplace_back(whole.begin(), whole.end() - 1);
    wanted.emplace_back(whole.begin() + 1, whole.end());
    batch.tokens += static_cast<int64_t>(whole.size()) - 1;
  }
  batch.tgt = padded(given);
  batch.targets = padded(wanted);
  return batch;
}

/// Random sequences, none of which is in `excluded`.
class Sequences {
 public:
  Sequences(const Preset& preset, heed::Generator& generator)
      : preset_(preset), generator_(generator) {}

  std::vector<Sequence> draw(
      int64_t count, const std::set<Sequence>& excluded) {
    std::vector<Sequence> sequences;
    while (static_cast<int64_t>(sequences.size()) < count) {
      const Sequence numbers = heed::randint(
                                   preset_.first_symbol(),
                                   preset_.vocabulary(),
                                   {count, preset_.max_length},
                                   heed::kInt64,
                                   generator_)
                                   .to_vector<int64_t>();
      const Sequence lengths = heed::randint(
                                   preset_.min_length,
                                   preset_.max_length + 1,
                                   {count},
                                   heed::kInt64,
                                   generator_)
                                   .to_vector<int64_t>();
      auto next = numbers.begin();
      for (int64_t length : lengths) {
        Sequence sequence(next, next + length);
        next += preset_.max_length;
        if (!preset_.framed) {
          sequence[0] = preset_.first_symbol();
        }
        if (!excluded.contains(sequence) &&
            static_cast<int64_t>(sequences.size()) < count) {
          sequences.push_back(std::move(sequence));
        }
      }
    }
    return sequences;
  }

 private:
  const Preset& preset_;
  heed::Generator& generator_;
};

struct Score {
  double loss = 0;         // per token
  double exact_match = 0;  // share of sequences
};

std::vector<Sequence> copies_of(
    const Preset& preset,
    heed::Transformer& model,
    const std::vector<Sequence>& sequences) {
  const Tensor src = padded(sequences);
  if (preset.framed) {
    return heed::greedy_decode(
        model,
        src,
        {.bos_id = preset.bos(),
         .eos_id = preset.eos(),
         .max_length = preset.max_length + 5});
  }
  // Nothing ends these but their length; padding is never said.
  auto copies = heed::greedy_decode(
      model,
      src,
      {.bos_id = preset.first_symbol(),
       .eos_id = kPad,
       .max_length = preset.max_length - 1});
  for (Sequence& copy : copies) {
    copy.insert(copy.begin(), preset.first_symbol());
  }
  return copies;
}

Score evaluate(
    const Preset& preset,
    heed::Transformer& model,
    const std::vector<Sequence>& sequences) {
  const heed::Evaluation evaluation(model);
  double loss = 0;
  int64_t tokens = 0;
  int64_t exact = 0;
  for (size_t first = 0; first < sequences.size(); first += 100) {
    const auto begin = sequences.begin() + static_cast<int64_t>(first);
    const size_t count = std::min<size_t>(100, sequences.size() - first);
    const std::vector<Sequence> part(
        begin, begin + static_cast<int64_t>(count));
    const Batch batch = make_batch(preset, part);
    loss += heed::cross_entropy(
                model(batch.src, batch.tgt),
                batch.targets,
                {.ignore_index = kPad, .reduction = heed::Reduction::sum})
                .item<double>();
    tokens += batch.tokens;
    const std::vector<Sequence> copies = copies_of(preset, model, part);
    for (size_t i = 0; i < count; ++i) {
      exact += copies[i] == part[i] ? 1 : 0;
    }
  }
  return {
      .loss = loss / static_cast<double>(tokens),
      .exact_match =
          static_cast<double>(exact) / static_cast<double>(sequences.size())};
}

std::string text_of(const Preset& preset, int64_t id) {
  if (!preset.framed) {
    return std::to_string(id);
  }
  if (id >= preset.first_symbol()) {
    return std::string(
        1, static_cast<char>('a' + (id - preset.first_symbol())));
  }
  return id == preset.bos() ? "<s>" : id == preset.eos() ? "</s>" : "_";
}

std::string text_of(const Preset& preset, const Sequence& sequence) {
  std::string text;
  for (int64_t id : sequence) {
    text += (text.empty() || preset.framed ? "" : " ") + text_of(preset, id);
  }
  return text;
}

/// Draws what each head of the decoder looks at in the source while it copies
/// `sequence`.
std::string attention_picture(
    const Preset& preset, heed::Transformer& model, const Sequence& sequence) {
  const heed::Evaluation evaluation(model);
  const Batch batch = make_batch(preset, {sequence});
  heed::AttentionWeights weights;
  model.forward(batch.src, batch.tgt, &weights);
  std::vector<std::string> source;
  std::vector<std::string> target;
  for (int64_t id : batch.src.to_vector<int64_t>()) {
    source.push_back(text_of(preset, id));
  }
  for (int64_t id : batch.targets.to_vector<int64_t>()) {
    target.push_back(text_of(preset, id));
  }
  std::vector<examples::HeatMap> maps;
  for (size_t layer = 0; layer < weights.decoder_cross.size(); ++layer) {
    const Tensor heads = weights.decoder_cross[layer].value()[0];  // [H, T, S]
    for (int64_t head = 0; head < heads.size(0); ++head) {
      maps.push_back(
          {"layer " + std::to_string(layer + 1) + ", head " +
               std::to_string(head + 1),
           heads[head],
           target,
           source});
    }
  }
  return examples::to_svg(
      "Cross-attention: copied symbol (rows) over source (columns)", maps, 4);
}

struct Settings {
  std::string preset = "default";
  uint64_t seed = 1;
  int threads = 0;    // 0: heed's own choice
  int64_t steps = 0;  // 0: the preset's
  std::string json;
  std::string attention;
};

heed::Schedule schedule_of(const Preset& preset) {
  return preset.peak_lr == 0
             ? heed::Schedule::noam(preset.model.d_model, preset.warmup_steps)
             : heed::Schedule::cosine(
                   preset.peak_lr,
                   0,
                   preset.steps,
                   {.warmup_steps =
                        std::min(preset.warmup_steps, preset.steps)});
}

int run(const Settings& settings) {
  Preset preset = settings.preset == "2018" ? preset_2018() : default_preset();
  if (settings.steps > 0) {
    preset.steps = settings.steps;
  }
  if (settings.threads > 0) {
    heed::set_num_threads(settings.threads);
  }
  for (const std::string& file : {settings.json, settings.attention}) {
    if (!file.empty()) {
      examples::check_output(file);  // now, not after the training
    }
  }
  heed::manual_seed(settings.seed);
  heed::Generator data_generator(settings.seed + 1);
  Sequences source(preset, data_generator);
  const std::vector<Sequence> unseen = source.draw(preset.eval_sequences, {});
  const std::set<Sequence> excluded(unseen.begin(), unseen.end());

  heed::Transformer model(
      preset.vocabulary(), preset.vocabulary(), preset.model);
  heed::Adam optimizer(model.parameters(), {.betas = {0.9, 0.98}, .eps = 1e-9});
  const heed::Schedule schedule = schedule_of(preset);
  std::printf(
      "Copying sequences of %lld to %lld symbols: %lld parameters, %lld steps "
      "of %lld sequences, %d threads\n",
      static_cast<long long>(preset.min_length),
      static_cast<long long>(preset.max_length),
      static_cast<long long>(model.num_parameters()),
      static_cast<long long>(preset.steps),
      static_cast<long long>(preset.batch),
      heed::num_threads());

  double seconds = 0;
  double tokens_per_second = 0;
  {
    examples::Progress progress(preset.steps);
    for (int64_t step = 1; step <= preset.steps; ++step) {
      const Batch batch =
          make_batch(preset, source.draw(preset.batch, excluded));
      optimizer.set_lr(schedule.lr(step));
      optimizer.zero_grad();
      const Variable loss = heed::cross_entropy(
          model(batch.src, batch.tgt), batch.targets, {.ignore_index = kPad});
      loss.backward();
      optimizer.step();
      progress.update(step, loss.item<double>(), optimizer.lr(), batch.tokens);
    }
    seconds = progress.seconds();
    tokens_per_second = progress.tokens_per_second();
  }

  const Score score = evaluate(preset, model, unseen);
  std::vector<Sequence> shown(unseen.begin(), unseen.begin() + 5);
  if (!preset.framed) {
    Sequence counting;
    for (int64_t id = 1; id <= preset.symbols; ++id) {
      counting.push_back(id);
    }
    shown = {counting};
  }
  const std::vector<Sequence> copies = copies_of(preset, model, shown);
  for (size_t i = 0; i < shown.size(); ++i) {
    std::printf(
        "%s  %s\n  -> %s\n",
        copies[i] == shown[i] ? "ok   " : "WRONG",
        text_of(preset, shown[i]).c_str(),
        text_of(preset, copies[i]).c_str());
  }
  const bool learned = score.loss <= preset.wanted_loss &&
                       score.exact_match >= preset.wanted_match &&
                       copies == shown;
  std::printf(
      "%s: loss %.4f per token and %.1f %% copied exactly of %zu sequences it "
      "never saw, after %.1f s\n",
      learned ? "Learned" : "NOT learned",
      score.loss,
      100 * score.exact_match,
      unseen.size(),
      seconds);

  if (!settings.attention.empty()) {
    const auto longest = std::max_element(
        unseen.begin(), unseen.end(), [](const auto& a, const auto& b) {
          return a.size() < b.size();
        });
    examples::write_file(
        settings.attention, attention_picture(preset, model, *longest));
    std::printf("Attention drawn in %s\n", settings.attention.c_str());
  }
  if (!settings.json.empty()) {
    const nlohmann::ordered_json result = {
        {"preset", preset.name},
        {"seed", settings.seed},
        {"steps", preset.steps},
        {"eval_loss", score.loss},
        {"exact_match", score.exact_match},
        {"train_tokens_per_s", tokens_per_second},
        {"seconds", seconds},
        {"threads", heed::num_threads()}};
    examples::write_file(settings.json, result.dump() + "\n");
  }
  return learned ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app(
      "Trains a Transformer to copy sequences, then tests it on sequences it "
      "has never seen. Exit status: 0 learned, 1 not learned, 2 bad options or "
      "files.");
  app.add_option("--preset", settings.preset, "What to train")
      ->check(CLI::IsMember({"default", "2018"}))
      ->capture_default_str();
  app.add_option("--seed", settings.seed, "Of all random numbers")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()))
      ->capture_default_str();
  app.add_option("--threads", settings.threads, "Default: one a core")
      ->check(CLI::Range(1, 1024));
  app.add_option("--steps", settings.steps, "Default: the preset's")
      ->check(CLI::Range(1, 1'000'000'000));
  app.add_option("--json", settings.json, "Write the result to this file");
  app.add_option(
      "--attention",
      settings.attention,
      "Draw each head's cross-attention for one sequence to this SVG file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    return run(settings);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "copy_task: %s\n", error.what());
    return 2;
  }
}
