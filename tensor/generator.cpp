#include "tensor/generator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "tensor/ceil_div.h"
#include "tensor/error.h"
#include "tensor/hold_while_forking.h"
#include "tensor/parallel.h"
#include "tensor/philox.h"
#include "tensor/simd.h"
#include "tensor/vector_math.h"

namespace heed {
namespace {

constexpr int kRandomBlocks = kRandomWords / 4;

/// Batches begin ... end - 1 of a draw of n numbers, of `words_each` words
/// each.
template <int words_each, typename T, typename Convert>
inline void fill_batches(
    GeneratorState start,
    T* out,
    int64_t n,
    int64_t begin,
    int64_t end,
    Convert convert) {
  constexpr int64_t kBatch = kRandomWords / words_each;
  uint32_t words[kRandomWords];
  T last[kBatch];
  for (int64_t batch = begin; batch < end; ++batch) {
    const int64_t left = n - batch * kBatch;
    T* to = out + batch * kBatch;
    philox_batch<kRandomBlocks>(
        start.offset + static_cast<uint64_t>(batch) * kRandomBlocks,
        start.seed,
        words);
    convert(start, batch, words, left < kBatch ? last : to);
    if (left < kBatch) {
      std::copy_n(last, left, to);
    }
  }
}

/// Draws n numbers of `words_each` words: batch by batch, so that a number
/// always comes out of the same instructions. convert(start, batch, words
/// [64], values) makes a batch of values. Nothing here is contracted to fused
/// multiply-adds: the numbers are the same bits at every SIMD level.
template <int words_each, typename T, typename Convert>
void fill(T* out, int64_t n, Generator& generator, const Convert& convert) {
  constexpr int64_t kBatch = kRandomWords / words_each;
  constexpr int64_t kOperationsPerWord = 8;
  if (n < 0 || n > INT64_MAX / (2 * words_each)) {
    fail("Generator", "a draw must have 0 <= n < 2^61 numbers, got ", n);
  }
  const GeneratorState start = generator.reserve(n * words_each);
  const int64_t batches = ceil_div(n, kBatch);
  parallel_for(
      batches,
      grain_for(kRandomWords * kOperationsPerWord),
      [&](int64_t begin, int64_t end) {
        simd::call<fill_batches<words_each, T, Convert>>(
            start, out, n, begin, end, convert);
      });
}

/// keep_bits, for kernels.
inline void keep_batches(
    GeneratorState start,
    int64_t batch,
    int64_t batches,
    uint32_t lowest_kept,
    uint64_t* bits) {
  uint32_t words[kRandomWords];
  uint32_t kept[kRandomBlocks];  // 4 bits a block
  for (int64_t k = 0; k < batches; ++k) {
    philox_batch<kRandomBlocks>(
        start.offset + static_cast<uint64_t>(batch + k) * kRandomBlocks,
        start.seed,
        words);
#pragma omp simd
    for (int block = 0; block < kRandomBlocks; ++block) {
      const uint32_t* word = words + 4 * block;
      kept[block] = (word[0] >= lowest_kept ? 1u : 0u) |
                    (word[1] >= lowest_kept ? 2u : 0u) |
                    (word[2] >= lowest_kept ? 4u : 0u) |
                    (word[3] >= lowest_kept ? 8u : 0u);
    }
    bits[k] = 0;
    for (int block = 0; block < kRandomBlocks; ++block) {
      bits[k] |= uint64_t{kept[block]} << (4 * block);
    }
  }
}

uint64_t join(uint32_t low, uint32_t high) {
  return low | static_cast<uint64_t>(high) << 32;
}

/// [0, 1) in steps of 2^-53.
double unit_double(uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

/// One pair of Box and Muller: independent standard normal numbers.
struct Pair {
  float first;
  float second;
};

/// sqrt(-2 ln u) (cos, sin)(2 pi v), with u in (0, 1] and v from a word each.
/// u keeps the precision of small numbers, down to 2^-33: no log(0), and a tail
/// without steps.
[[gnu::always_inline]] inline Pair normal_pair(uint32_t word0, uint32_t word1) {
  const float high = static_cast<float>(static_cast<int32_t>(word0 >> 16));
  const float low = static_cast<float>(static_cast<int32_t>(word0 & 0xffff));
  const float u = (high * 65536.0f + (low + 0.5f)) * 0x1p-32f;
  const float radius = std::sqrt(-2.0f * vector_math::log(u));

  // The word counts 2^-32 turns. The nearest quarter turn leaves an angle
  // within pi/4 of zero, exactly.
  const uint32_t quarter = (word1 + (1u << 29)) >> 30;
  const float angle =
      static_cast<float>(static_cast<int32_t>(word1 - (quarter << 30))) *
      (2.0f * std::numbers::pi_v<float> * 0x1p-32f);
  const float square = angle * angle;
  // Minimax fits on the quarter: sin a = a + a^3 p(a^2), cos a =
  // 1 - a^2 / 2 + a^4 p(a^2), errors 2^-28 and 2^-33.
  const float sine =
      angle + angle * square *
                  (-1.66666552e-1f +
                   square * (8.33219197e-3f - square * 1.95187909e-4f));
  const float cosine =
      1.0f - 0.5f * square +
      square * square *
          (4.16666456e-2f +
           square * (-1.38873013e-3f + square * 2.44306684e-5f));
  const bool swapped = (quarter & 1) != 0;
  const float x = swapped ? sine : cosine;
  const float y = swapped ? cosine : sine;
  // cos is negative in quarters 1 and 2, sin in quarters 2 and 3.
  const float x_radius = ((quarter + 1) & 2) != 0 ? -radius : radius;
  const float y_radius = (quarter & 2) != 0 ? -radius : radius;
  return {x * x_radius, y * y_radius};
}

/// The two words of number `index` of a draw, out of one of 2^32 streams.
uint64_t bits_at(const GeneratorState& start, uint64_t index, uint32_t stream) {
  const uint64_t counter = start.offset + index / 2;
  const std::array<uint32_t, 4> words = philox(
      {static_cast<uint32_t>(counter),
       static_cast<uint32_t>(counter >> 32),
       stream,
       0},
      {static_cast<uint32_t>(start.seed),
       static_cast<uint32_t>(start.seed >> 32)});
  return join(words[2 * (index % 2)], words[2 * (index % 2) + 1]);
}

/// Lemire's method (2019, "Fast random integer generation in an interval"): the
/// high half of bits * range, refusing the few bits that would favour some
/// result. A refused number tries again at the same place of another stream.
uint64_t index_below(
    const GeneratorState& start,
    uint64_t index,
    uint64_t bits,
    uint64_t range) {
  for (uint32_t stream = 1;; ++stream) {
    const __uint128_t product = static_cast<__uint128_t>(bits) * range;
    const auto low = static_cast<uint64_t>(product);
    // -range % range is 2^64 mod range, and below range: seldom worked out.
    if (low >= range || low >= -range % range) {
      return static_cast<uint64_t>(product >> 64);
    }
    bits = bits_at(start, index, stream);
  }
}

}  // namespace

GeneratorState Generator::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void Generator::set_state(const GeneratorState& state) {
  const std::lock_guard lock(mutex_);
  state_ = state;
}

GeneratorState Generator::reserve(int64_t words) {
  if (words < 0) {
    fail("Generator", "reserve takes words >= 0, got ", words);
  }
  const std::lock_guard lock(mutex_);
  const GeneratorState start = state_;
  state_.offset += (static_cast<uint64_t>(words) + 3) / 4;
  return start;
}

Generator& default_generator() {
  static Generator* const generator = [] {
    hold_while_forking<[]() -> std::mutex& {
      return default_generator().mutex_;
    }>();
    return new Generator;
  }();
  return *generator;
}

void manual_seed(uint64_t seed) { default_generator().set_seed(seed); }

void fill_uniform(
    float* out, int64_t n, float low, float high, Generator& generator) {
  const float below = std::nextafter(high, low);
  fill<1>(
      out,
      n,
      generator,
      [=](const GeneratorState&, int64_t, const uint32_t* words, float* to) {
        // Locals: a load under a condition would not be vectorised.
        const float width = high - low;
        const float first = low;
        const float last = below;
#pragma omp simd
        for (int i = 0; i < kRandomWords; ++i) {
          const auto step = static_cast<int32_t>(words[i] >> 8);
          const float x = first + width * (static_cast<float>(step) * 0x1p-24f);
          to[i] = last < x ? last : x;  // the sum may round up
        }
      });
}

void fill_uniform(
    double* out, int64_t n, double low, double high, Generator& generator) {
  const double below = std::nextafter(high, low);
  fill<2>(
      out,
      n,
      generator,
      [=](const GeneratorState&, int64_t, const uint32_t* words, double* to) {
        const double width = high - low;
        const double last = below;
        for (int i = 0; i < kRandomWords / 2; ++i) {
          const uint64_t bits = join(words[2 * i], words[2 * i + 1]);
          const double x = low + width * unit_double(bits);
          to[i] = last < x ? last : x;
        }
      });
}

void fill_normal(
    float* out, int64_t n, float mean, float std, Generator& generator) {
  fill<1>(
      out,
      n,
      generator,
      [=](const GeneratorState&, int64_t, const uint32_t* words, float* to) {
#pragma omp simd
        for (int i = 0; i < kRandomWords; i += 2) {
          const Pair pair = normal_pair(words[i], words[i + 1]);
          to[i] = mean + std * pair.first;
          to[i + 1] = mean + std * pair.second;
        }
      });
}

void fill_normal(
    double* out, int64_t n, double mean, double std, Generator& generator) {
  fill<2>(
      out,
      n,
      generator,
      [=](const GeneratorState&, int64_t, const uint32_t* words, double* to) {
        for (int i = 0; i < kRandomWords / 2; i += 2) {
          const uint32_t* word = words + 2 * i;
          // (0, 1]: never the logarithm of 0.
          const double u = unit_double(join(word[0], word[1])) + 0x1p-53;
          const double v = unit_double(join(word[2], word[3]));
          const double radius = std::sqrt(-2.0 * std::log(u));
          const double angle = 2.0 * std::numbers::pi * v;
          to[i] = mean + std * (radius * std::cos(angle));
          to[i + 1] = mean + std * (radius * std::sin(angle));
        }
      });
}

void fill_index(
    int64_t* out, int64_t n, int64_t low, int64_t high, Generator& generator) {
  const uint64_t range =
      static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  fill<2>(
      out,
      n,
      generator,
      [=](const GeneratorState& start,
          int64_t batch,
          const uint32_t* words,
          int64_t* to) {
        constexpr int kBatch = kRandomWords / 2;
        for (int i = 0; i < kBatch; ++i) {
          const uint64_t below = index_below(
              start,
              static_cast<uint64_t>(batch * kBatch + i),
              join(words[2 * i], words[2 * i + 1]),
              range);
          to[i] = static_cast<int64_t>(static_cast<uint64_t>(low) + below);
        }
      });
}

void fill_bernoulli(bool* out, int64_t n, double p, Generator& generator) {
  const uint64_t threshold = probability_threshold(p);
  fill<1>(
      out,
      n,
      generator,
      [=](const GeneratorState&, int64_t, const uint32_t* words, bool* to) {
        for (int i = 0; i < kRandomWords; ++i) {
          to[i] = words[i] < threshold;
        }
      });
}

uint64_t uniform_index(
    const GeneratorState& start, uint64_t index, uint64_t range) {
  return index_below(start, index, bits_at(start, index, 0), range);
}

void random_words(const GeneratorState& start, int64_t batch, uint32_t* words) {
  simd::call<philox_batch<kRandomBlocks>>(
      start.offset + static_cast<uint64_t>(batch) * kRandomBlocks,
      start.seed,
      words);
}

void keep_bits(
    const GeneratorState& start,
    int64_t batch,
    int64_t batches,
    uint64_t threshold,
    uint64_t* bits) {
  if (threshold > UINT32_MAX) {
    std::fill_n(bits, batches, 0);
    return;
  }
  simd::call<keep_batches>(
      start, batch, batches, static_cast<uint32_t>(threshold), bits);
}

uint64_t probability_threshold(double p) {
  return static_cast<uint64_t>(std::llround(std::ldexp(p, 32)));
}

}  // namespace heed
