#include "nn/token_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "autograd/grad_mode.h"
#include "tensor/creation.h"
#include "tensor/reduction.h"

namespace heed {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A hypothesis that goes on.
struct Living {
  std::vector<int64_t> tokens;
  double log_prob = 0;
  int64_t slot = 0;  // its row, counted from the sentence's first
};

/// A hypothesis and the token that may be its next.
struct Candidate {
  size_t parent;  // the place in Sentence::living
  int64_t token;
  double log_prob;  // with the token
};

/// Ranks continuations; candidates are made parent by parent.
bool is_better(const Candidate& a, const Candidate& b) {
  if (a.log_prob != b.log_prob) {
    return a.log_prob > b.log_prob;
  }
  return a.parent != b.parent ? a.parent < b.parent : a.token < b.token;
}

/// What may follow each row, [rows, count].
struct Continuations {
  int64_t count;
  std::vector<double> scores;
  std::vector<int64_t> tokens;
  std::vector<double> log_totals;  // of all scores of a row, [rows]
};

struct Sentence {
  int64_t index;
  int64_t max_length;
  std::vector<Living> living = {Living()};  // the best first
  std::vector<Hypothesis> results = {};     // the best first
};

class Search {
 public:
  Search(
      std::string_view who,
      NextTokenScorer& scorer,
      const BeamSearchOptions& options,
      const ChooseTokens& choose)
      : who_(who), scorer_(scorer), options_(options), choose_(choose) {
    check_search_options(who, options, scorer);
    const int64_t count = scorer.num_sentences();
    const auto& limits = options.max_lengths;
    const int64_t most = std::min(options.max_length, scorer.max_length());
    for (int64_t i = 0; i < count; ++i) {
      sentences_.push_back(
          {.index = i,
           .max_length = limits.empty()
                             ? most
                             : std::min(most, limits[static_cast<size_t>(i)])});
    }
    results_.resize(sentences_.size());
    scorer_rows_ = count;
  }

  std::vector<std::vector<Hypothesis>> run() {
    const NoGradGuard no_grad;
    for (Sentence& sentence : sentences_) {
      if (sentence.max_length == 0) {
        cut_off(sentence);
      }
    }
    rearrange(/*width=*/1);
    while (!sentences_.empty()) {
      step();
    }
    return std::move(results_);
  }

 private:
  int64_t rows() const {
    return static_cast<int64_t>(sentences_.size()) * width_;
  }
  int64_t row_of(size_t place, const Living& living) const {
    return static_cast<int64_t>(place) * width_ + living.slot;
  }

  void step() {
    Tensor scores = scorer_.step(last_tokens());
    check_scores(scores);
    const std::vector<double> log_totals =
        logsumexp(scores, -1).to_vector<double>();
    check_numbers(log_totals);
    ban(scores);
    const std::vector<int64_t> sentence_of_row = sentences_of_rows();
    const TopK best = choose_(
        scores,
        {.position = position_,
         .sentences = sentence_of_row,
         .count = std::min(options_.beam_size, scorer_.vocab_size())});
    const Continuations next{
        .count = best.indices.size(1),
        .scores = best.values.to_vector<double>(),
        .tokens = best.indices.to_vector<int64_t>(),
        .log_totals = log_totals};
    ++position_;
    int64_t width = 1;
    for (size_t g = 0; g < sentences_.size(); ++g) {
      advance(sentences_[g], candidates_of(g, next));
      width = std::max<int64_t>(
          width, static_cast<int64_t>(sentences_[g].living.size()));
    }
    rearrange(width);
  }

  std::vector<Candidate> candidates_of(
      size_t place, const Continuations& next) const {
    std::vector<Candidate> candidates;
    const std::vector<Living>& living = sentences_[place].living;
    for (size_t parent = 0; parent < living.size(); ++parent) {
      const int64_t row = row_of(place, living[parent]);
      const double log_total = next.log_totals[static_cast<size_t>(row)];
      for (int64_t i = row * next.count; i < (row + 1) * next.count; ++i) {
        const auto at = static_cast<size_t>(i);
        if (next.scores[at] > -kInfinity) {
          const double log_prob = std::min(next.scores[at] - log_total, 0.0);
          candidates.push_back(
              {.parent = parent,
               .token = next.tokens[at],
               .log_prob = living[parent].log_prob + log_prob});
        }
      }
    }
    return candidates;
  }

  /// The token that each row ends with.
  Tensor last_tokens() const {
    Tensor tokens = full({rows()}, options_.bos_id, kInt64);
    int64_t* const to = tokens.mutable_data<int64_t>();
    for (size_t g = 0; g < sentences_.size(); ++g) {
      for (const Living& living : sentences_[g].living) {
        if (!living.tokens.empty()) {
          to[row_of(g, living)] = living.tokens.back();
        }
      }
    }
    return tokens;
  }

  std::vector<int64_t> sentences_of_rows() const {
    std::vector<int64_t> of_row;
    for (const Sentence& sentence : sentences_) {
      of_row.insert(of_row.end(), static_cast<size_t>(width_), sentence.index);
    }
    return of_row;
  }

  void check_scores(const Tensor& scores) const {
    check_defined(who_, scores, "scores");
    const Shape wanted({rows(), scorer_.vocab_size()});
    if (scores.shape() != wanted || !is_floating(scores.dtype())) {
      fail(
          who_,
          "scores must be floating and have shape [rows, vocab_size] = ",
          wanted,
          ", got ",
          scores.dtype(),
          " ",
          scores.shape());
    }
  }

  void check_numbers(const std::vector<double>& log_totals) const {
    for (size_t g = 0; g < sentences_.size(); ++g) {
      for (const Living& living : sentences_[g].living) {
        const int64_t row = row_of(g, living);
        if (!(log_totals[static_cast<size_t>(row)] < kInfinity)) {
          fail(
              who_,
              "scores must be numbers below +inf, got NaN or +inf for "
              "sentence ",
              sentences_[g].index,
              " after ",
              position_,
              " tokens");
        }
      }
    }
  }

  /// Makes sure that tokens which may not come are not chosen.
  void ban(Tensor& scores) const {
    std::vector<int64_t> banned = options_.banned_ids;
    if (position_ < options_.min_length) {
      banned.push_back(options_.eos_id);
    }
    if (banned.empty()) {
      return;
    }
    if (!scores.is_unique() || scores.has_internal_overlap()) {
      scores = scores.clone();
    }
    for (const int64_t id : banned) {
      scores.select(1, id).fill_(-kInfinity);
    }
  }

  /// Takes the best candidates, as many as there are places.
  void advance(Sentence& sentence, std::vector<Candidate> candidates) const {
    if (candidates.empty()) {
      cut_off(sentence);
      return;
    }
    const size_t places =
        static_cast<size_t>(options_.beam_size) - sentence.results.size();
    const size_t count = std::min(places, candidates.size());
    std::partial_sort(
        candidates.begin(),
        candidates.begin() + static_cast<int64_t>(count),
        candidates.end(),
        is_better);
    std::vector<Living> living;
    for (size_t i = 0; i < count; ++i) {
      const Candidate& chosen = candidates[i];
      const Living& parent = sentence.living[chosen.parent];
      if (chosen.token == options_.eos_id) {
        add_result(sentence, parent.tokens, chosen.log_prob, true);
      } else {
        living.push_back({parent.tokens, chosen.log_prob, parent.slot});
        living.back().tokens.push_back(chosen.token);
      }
    }
    sentence.living = std::move(living);
    if (position_ == sentence.max_length) {
      cut_off(sentence);
    } else if (!can_improve(sentence)) {
      sentence.living.clear();
    }
  }

  /// Ends all hypotheses of the sentence where they are.
  void cut_off(Sentence& sentence) const {
    for (const Living& living : sentence.living) {
      add_result(sentence, living.tokens, living.log_prob, false);
    }
    sentence.living.clear();
  }

  void add_result(
      Sentence& sentence,
      const std::vector<int64_t>& tokens,
      double log_prob,
      bool ended) const {
    const int64_t length = static_cast<int64_t>(tokens.size()) + ended;
    Hypothesis result{
        .tokens = tokens,
        .score = log_prob / length_penalty(length, options_.alpha),
        .log_prob = log_prob,
        .ended = ended};
    const auto place = std::upper_bound(
        sentence.results.begin(),
        sentence.results.end(),
        result,
        [](const Hypothesis& a, const Hypothesis& b) {
          return a.score > b.score;
        });
    sentence.results.insert(place, std::move(result));
  }

  /// Whether a hypothesis that goes on may yet be among the n_best. Its
  /// log_prob, which is negative, can only fall; the penalty that divides it is
  /// largest at the greatest length or, if alpha < 0, at the next one.
  bool can_improve(const Sentence& sentence) const {
    const auto n_best = static_cast<size_t>(options_.n_best);
    if (sentence.results.size() < n_best) {
      return true;
    }
    const double penalty = length_penalty(
        options_.alpha >= 0 ? sentence.max_length : position_ + 1,
        options_.alpha);
    const double to_beat = sentence.results[n_best - 1].score;
    return std::any_of(
        sentence.living.begin(),
        sentence.living.end(),
        [&](const Living& living) {
          return living.log_prob / penalty > to_beat;
        });
  }

  /// Lets sentences go that are done with, and gives the others `width` rows
  /// each. A hypothesis stays in its parent's row where it can, and a
  /// sentence in its place: what stays need not be copied.
  void rearrange(int64_t width) {
    std::vector<size_t> places(sentences_.size());  // before, of each sentence
    for (size_t g = 0; g < places.size(); ++g) {
      places[g] = g;
    }
    for (size_t g = 0; g < sentences_.size();) {
      if (!sentences_[g].living.empty()) {
        ++g;
        continue;
      }
      take_results(sentences_[g]);
      if (g + 1 < sentences_.size()) {
        sentences_[g] = std::move(sentences_.back());
        places[g] = places.back();
      }
      sentences_.pop_back();
      places.pop_back();
    }
    std::vector<int64_t> from;
    bool all_stay = width == width_ && rows() == scorer_rows_;
    for (size_t g = 0; g < sentences_.size(); ++g) {
      const int64_t first = static_cast<int64_t>(places[g]) * width_;
      for (const int64_t slot : settle(sentences_[g].living, width)) {
        all_stay &= first + slot == static_cast<int64_t>(from.size());
        from.push_back(first + slot);
      }
    }
    width_ = width;
    if (!all_stay && !from.empty()) {
      scorer_.select_rows(from, width);
    }
    scorer_rows_ = rows();
  }

  /// Gives the hypotheses slots of their own, and returns for each slot the one
  /// that it goes on from.
  std::vector<int64_t> settle(
      std::vector<Living>& living, int64_t width) const {
    constexpr int64_t kFree = -1;
    std::vector<int64_t> from(static_cast<size_t>(width), kFree);
    std::vector<Living*> movers;
    for (Living& one : living) {
      const auto slot = static_cast<size_t>(one.slot);
      if (one.slot < width && from[slot] == kFree) {
        from[slot] = one.slot;
      } else {
        movers.push_back(&one);
      }
    }
    auto next = from.begin();
    for (Living* one : movers) {
      next = std::find(next, from.end(), kFree);
      *next = one->slot;
      one->slot = next - from.begin();
    }
    // Rows without a hypothesis go on as they are, or as any other.
    for (int64_t slot = 0; slot < width; ++slot) {
      int64_t& source = from[static_cast<size_t>(slot)];
      if (source == kFree) {
        source = slot < width_ ? slot
                               : from[static_cast<size_t>(living.front().slot)];
      }
    }
    return from;
  }

  void take_results(Sentence& sentence) {
    auto& results = sentence.results;
    results.resize(
        std::min(results.size(), static_cast<size_t>(options_.n_best)));
    results_[static_cast<size_t>(sentence.index)] = std::move(results);
  }

  std::string_view who_;
  NextTokenScorer& scorer_;
  const BeamSearchOptions& options_;
  const ChooseTokens& choose_;
  std::vector<Sentence> sentences_;  // that are not done, as their rows stand
  std::vector<std::vector<Hypothesis>> results_;
  int64_t width_ = 1;        // rows a sentence
  int64_t scorer_rows_ = 0;  // that the scorer has
  int64_t position_ = 0;     // tokens that each hypothesis has
};

}  // namespace

void check_search_options(
    std::string_view who,
    const BeamSearchOptions& options,
    int64_t vocab_size) {
  const auto check_id = [&](const char* name, int64_t id) {
    if (id < 0 || id >= vocab_size) {
      fail(who, name, " must be in [0, ", vocab_size, "), got ", id);
    }
  };
  check_id("bos_id", options.bos_id);
  check_id("eos_id", options.eos_id);
  for (const int64_t id : options.banned_ids) {
    check_id("banned_ids", id);
  }
  if (options.n_best < 1 || options.n_best > options.beam_size) {
    fail(
        who,
        "n_best must be in [1, beam_size], got n_best = ",
        options.n_best,
        " and beam_size = ",
        options.beam_size);
  }
  if (!std::isfinite(options.alpha)) {
    fail(who, "alpha must be finite, got ", options.alpha);
  }
  if (options.min_length < 0) {
    fail(who, "min_length must be >= 0, got ", options.min_length);
  }
  if (options.max_length < options.min_length) {
    fail(
        who,
        "max_length must be >= ",
        options.min_length,
        ", got ",
        options.max_length);
  }
  for (const int64_t length : options.max_lengths) {
    if (length < 0) {
      fail(who, "max_lengths must be >= 0, got ", length);
    }
  }
}

void check_search_options(
    std::string_view who,
    const BeamSearchOptions& options,
    const NextTokenScorer& scorer) {
  check_search_options(who, options, scorer.vocab_size());
  const auto limits = static_cast<int64_t>(options.max_lengths.size());
  if (limits != 0 && limits != scorer.num_sentences()) {
    fail(
        who,
        "max_lengths must be none or one for each of ",
        scorer.num_sentences(),
        " sentences, got ",
        limits);
  }
}

TopK likeliest_tokens(const Tensor& scores, const SearchStep& step) {
  return topk(scores, step.count);
}

std::vector<std::vector<Hypothesis>> search_tokens(
    std::string_view who,
    NextTokenScorer& scorer,
    const BeamSearchOptions& options,
    const ChooseTokens& choose) {
  return Search(who, scorer, options, choose).run();
}

}  // namespace heed
