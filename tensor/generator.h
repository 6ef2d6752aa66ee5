#pragma once

#include <cstdint>
#include <mutex>

namespace heed {

/// Where a generator stands: all there is to save and restore.
struct GeneratorState {
  uint64_t seed = 0;
  /// Blocks of four 32-bit words taken since the seed was set.
  uint64_t offset = 0;

  bool operator==(const GeneratorState&) const = default;
};

/// A source of random numbers that counts (Philox 4x32-10).
///
/// Number i of a draw is a function of the seed, of the offset the draw began
/// at and of i; nothing else is kept. So numbers can be made in any order, on
/// any number of threads, or made again later from the state the draw began at:
///
///     const GeneratorState start = generator.reserve(n);  // n words are ours
///     random_words(start, batch, words);                  // now, and later
///
/// Equal seeds give equal numbers; a seed is never taken from a clock. All
/// members may be called from several threads at once; which of them draws
/// first is then theirs to settle.
class Generator {
 public:
  /// The seed of a generator nobody seeded.
  static constexpr uint64_t kDefaultSeed = 1706'03762;

  explicit Generator(uint64_t seed = kDefaultSeed) : state_{seed, 0} {}

  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  uint64_t seed() const { return state().seed; }
  /// Starts again from a seed.
  void set_seed(uint64_t seed) { set_state({seed, 0}); }

  GeneratorState state() const;
  void set_state(const GeneratorState& state);

  /// Takes blocks enough for so many 32-bit words, and returns the state
  /// before: the draw owns the counters from its offset on. Throws
  /// std::invalid_argument unless words >= 0.
  GeneratorState reserve(int64_t words);

 private:
  friend Generator& default_generator();

  mutable std::mutex mutex_;
  GeneratorState state_;
};

/// The generator that functions use when given none.
Generator& default_generator();

/// Seeds the default generator.
void manual_seed(uint64_t seed);

// Each of the following draws n numbers, and leaves the same in `out` whatever
// the number of threads. A shorter draw from the same state is a prefix of a
// longer one. Throws std::invalid_argument unless n >= 0.

/// Uniform in [low, high), in steps of 2^-24 of its width (float), 2^-53
/// (double). low < high and a width that is finite are the caller's to check.
void fill_uniform(
    float* out, int64_t n, float low, float high, Generator& generator);
void fill_uniform(
    double* out, int64_t n, double low, double high, Generator& generator);

/// Normal, by Box and Muller's pairs (1958), up to 6.7 (float) and 8.5 (double)
/// standard deviations out.
void fill_normal(
    float* out, int64_t n, float mean, float std, Generator& generator);
void fill_normal(
    double* out, int64_t n, double mean, double std, Generator& generator);

/// Integers of [low, high), all exactly equally likely. low < high is the
/// caller's to check.
void fill_index(
    int64_t* out, int64_t n, int64_t low, int64_t high, Generator& generator);

/// true with probability p in [0, 1], exact to 2^-32; 0 and 1 are certain.
void fill_bernoulli(bool* out, int64_t n, double p, Generator& generator);

/// Integer `index` of a draw of integers below `range`, all exactly equally
/// likely; the draw takes two words a number. range > 0.
uint64_t uniform_index(
    const GeneratorState& start, uint64_t index, uint64_t range);

/// How many of the 2^32 values of a word are below p: an event of probability
/// p in [0, 1] is `word < probability_threshold(p)`, in 64-bit numbers, for p =
/// 1 gives 2^32.
uint64_t probability_threshold(double p);

/// Words that random_words makes at once.
inline constexpr int64_t kRandomWords = 64;

/// Words 64 batch ... 64 batch + 63 of a draw.
void random_words(const GeneratorState& start, int64_t batch, uint32_t* words);

/// Which elements dropout keeps, the lowest bit first: bits[k] is about
/// elements 64 (batch + k) ... 64 (batch + k) + 63, for k = 0 .. batches - 1.
/// Element i is dropped when word i of the draw is below the threshold,
/// probability_threshold(p).
void keep_bits(
    const GeneratorState& start,
    int64_t batch,
    int64_t batches,
    uint64_t threshold,
    uint64_t* bits);

}  // namespace heed
