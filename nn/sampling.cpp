#include "nn/sampling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "nn/model_search.h"
#include "nn/token_search.h"
#include "tensor/creation.h"
#include "tensor/elementwise.h"
#include "tensor/indexing.h"
#include "tensor/philox.h"
#include "tensor/reduction.h"
#include "tensor/softmax.h"

namespace heed {
namespace {

constexpr const char* kWho = "sample_decode";

void check_options(const SamplingOptions& options) {
  if (!(options.temperature > 0 && std::isfinite(options.temperature))) {
    fail(
        kWho,
        "temperature must be positive and finite, got ",
        options.temperature);
  }
  if (options.top_k < 0) {
    fail(kWho, "top_k must be >= 0, got ", options.top_k);
  }
  if (!(options.top_p > 0 && options.top_p <= 1)) {
    fail(kWho, "top_p must be in (0, 1], got ", options.top_p);
  }
}

BeamSearchOptions beam_of_one(const SamplingOptions& options) {
  return {
      .bos_id = options.bos_id,
      .eos_id = options.eos_id,
      .beam_size = 1,
      .alpha = 0,
      .min_length = options.min_length,
      .max_length = options.max_length,
      .max_lengths = options.max_lengths,
      .banned_ids = options.banned_ids};
}

using Key = std::array<uint32_t, 2>;

/// Each sentence's own seed: a block of the generator's for each.
std::vector<Key> draw_keys(Generator& generator, int64_t sentences) {
  const GeneratorState start = generator.reserve(4 * sentences);
  const auto halves = [](uint64_t x) {
    return Key{static_cast<uint32_t>(x), static_cast<uint32_t>(x >> 32)};
  };
  std::vector<Key> keys;
  for (int64_t i = 0; i < sentences; ++i) {
    const Key counter = halves(start.offset + static_cast<uint64_t>(i));
    const auto block =
        philox({counter[0], counter[1], 0, 0}, halves(start.seed));
    keys.push_back({block[0], block[1]});
  }
  return keys;
}

/// Uniform in [0, 1), in steps of 2^-53.
double uniform(const Key& key, int64_t position) {
  const auto block = philox({static_cast<uint32_t>(position), 0, 0, 0}, key);
  const uint64_t bits = uint64_t{block[0]} << 32 | block[1];
  return std::ldexp(static_cast<double>(bits >> 11), -53);
}

/// softmax(scores / temperature) of each row; zeros for a row of -inf only.
Tensor tempered(const Tensor& scores, double temperature) {
  if (temperature == 1) {
    return softmax(scores, -1);
  }
  // Differences to the largest score do not overflow when divided.
  Tensor most = max(scores, {-1}, /*keepdim=*/true);
  most.clamp_(
      std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max());
  Tensor x = scores - most;
  // So small a number that it makes no difference is no 0 in float32.
  x.div_(std::max<double>(temperature, std::numeric_limits<float>::min()));
  return softmax(x, -1);
}

template <typename T>
double sum_of(const T* x, int64_t n) {
  return std::accumulate(x, x + n, 0.0);
}

/// How many of the first weights it takes for their sum to exceed `sum`; n + 1
/// if all do not.
template <typename T>
int64_t count_beyond(const T* weights, int64_t n, double sum) {
  double running = 0;
  for (int64_t i = 0; i < n; ++i) {
    running += static_cast<double>(weights[i]);
    if (running > sum) {
      return i + 1;
    }
  }
  return n + 1;
}

/// The top_k largest probabilities of each row or, without top_k, as many as
/// hold top_p of the whole.
TopK largest(const Tensor& probabilities, int64_t top_k, double top_p) {
  const int64_t n = probabilities.size(1);
  if (top_k > 0) {
    return topk(probabilities, std::min(top_k, n));
  }
  for (int64_t k = 64;; k *= 8) {
    TopK best = topk(probabilities, std::min(k, n));
    if (k >= n || min(sum(best.values, {-1})).item<double>() >= top_p) {
      return best;
    }
  }
}

/// A token of each row, drawn with the numbers of its sentence.
class Sampler {
 public:
  Sampler(const SamplingOptions& options, int64_t sentences)
      : options_(options), keys_(draw_keys(options.generator, sentences)) {}

  TopK operator()(const Tensor& scores, const SearchStep& step) const {
    const Tensor probabilities = tempered(scores, options_.temperature);
    const bool cut = options_.top_k > 0 || options_.top_p < 1;
    const TopK among =
        cut ? largest(probabilities, options_.top_k, options_.top_p)
            : TopK{probabilities, Tensor()};
    return visit_floating(kWho, scores.dtype(), [&]<typename T>(TypeTag<T>) {
      const int64_t rows = scores.size(0);
      const int64_t n = among.values.size(1);
      TopK drawn{Tensor({rows, 1}, scores.dtype()), zeros({rows, 1}, kInt64)};
      const Tensor all = scores.contiguous();
      T* const values = drawn.values.mutable_data<T>();
      int64_t* const tokens = drawn.indices.mutable_data<int64_t>();
      for (int64_t i = 0; i < rows; ++i) {
        const auto sentence =
            static_cast<size_t>(step.sentences[static_cast<size_t>(i)]);
        const int64_t place = draw(
            among.values.data<T>() + i * n,
            n,
            uniform(keys_[sentence], step.position));
        if (place == n) {
          values[i] = -std::numeric_limits<T>::infinity();
          continue;
        }
        tokens[i] = cut ? among.indices.data<int64_t>()[i * n + place] : place;
        values[i] = all.data<T>()[i * scores.size(1) + tokens[i]];
      }
      return drawn;
    });
  }

 private:
  /// The place of the weight drawn by u in [0, 1): each as likely as it is
  /// large. n if there is none.
  template <typename T>
  int64_t draw(const T* weights, int64_t n, double u) const {
    if (options_.top_p < 1) {
      const double whole = options_.top_k > 0 ? sum_of(weights, n) : 1;
      // Just below, as a sum that equals top_p is enough.
      const double share = std::nextafter(options_.top_p * whole, 0.0);
      n = std::min(n, count_beyond(weights, n, share));
    }
    return count_beyond(weights, n, u * sum_of(weights, n)) - 1;
  }

  const SamplingOptions& options_;
  std::vector<Key> keys_;
};

}  // namespace

std::vector<Hypothesis> sample_decode(
    NextTokenScorer& scorer, const SamplingOptions& options) {
  check_options(options);
  const BeamSearchOptions search = beam_of_one(options);
  check_search_options(kWho, search, scorer);
  const Sampler sampler(options, scorer.num_sentences());
  std::vector<Hypothesis> sequences;
  for (auto& drawn : search_tokens(kWho, scorer, search, sampler)) {
    sequences.push_back(std::move(drawn.front()));
  }
  return sequences;
}

std::vector<Hypothesis> sample_decode(
    Transformer& model, const Tensor& src, const SamplingOptions& options) {
  check_options(options);
  check_search_options(kWho, beam_of_one(options), model.tgt_vocab_size());
  return search_model(
      kWho,
      model,
      src,
      options,
      [](NextTokenScorer& scorer, const SamplingOptions& allowed) {
        return sample_decode(scorer, allowed);
      });
}

}  // namespace heed
