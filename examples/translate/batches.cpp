#include "examples/translate/batches.h"

#include <heed/tensor/creation.h>
#include <heed/tensor/error.h>
#include <heed/tensor/generator.h>
#include <heed/tensor/random.h>

#include <algorithm>
#include <numeric>

namespace translate {
namespace {

int64_t length_of(const Ids& ids) { return static_cast<int64_t>(ids.size()); }

}  // namespace

Ids encode_source(const Vocabulary& vocabulary, const std::string& line) {
  Ids ids = vocabulary.encode(line);
  ids.push_back(kEosId);
  return ids;
}

std::vector<Pair> encode(
    const Vocabulary& vocabulary, const ParallelText& text) {
  std::vector<Pair> pairs;
  pairs.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    Ids tgt = vocabulary.encode(text.tgt[i]);
    tgt.insert(tgt.begin(), kBosId);
    tgt.push_back(kEosId);
    pairs.push_back({encode_source(vocabulary, text.src[i]), std::move(tgt)});
  }
  return pairs;
}

heed::Tensor padded(const std::vector<Ids>& rows) {
  size_t length = 0;
  for (const Ids& row : rows) {
    length = std::max(length, row.size());
  }
  Ids ids;
  ids.reserve(rows.size() * length);
  for (const Ids& row : rows) {
    ids.insert(ids.end(), row.begin(), row.end());
    ids.resize(ids.size() + length - row.size(), kPadId);
  }
  return heed::from_vector(
      ids, {static_cast<int64_t>(rows.size()), static_cast<int64_t>(length)});
}

Batch make_batch(
    const std::vector<Pair>& pairs, const std::vector<size_t>& indices) {
  std::vector<Ids> src;
  std::vector<Ids> given;
  std::vector<Ids> wanted;
  int64_t tokens = 0;
  for (size_t index : indices) {
    const Pair& pair = pairs[index];
    src.push_back(pair.src);
    given.emplace_back(pair.tgt.begin(), pair.tgt.end() - 1);
    wanted.emplace_back(pair.tgt.begin() + 1, pair.tgt.end());
    tokens += length_of(pair.tgt) - 1;
  }
  return {padded(src), padded(given), padded(wanted), tokens};
}

std::vector<std::vector<size_t>> by_length(
    const std::vector<Pair>& pairs, std::vector<size_t> order, int64_t tokens) {
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const Pair& x = pairs[a];
    const Pair& y = pairs[b];
    return x.tgt.size() != y.tgt.size() ? x.tgt.size() < y.tgt.size()
                                        : x.src.size() < y.src.size();
  });
  std::vector<std::vector<size_t>> batches;
  int64_t longest = 0;
  for (size_t index : order) {
    const Pair& pair = pairs[index];
    const int64_t length =
        std::max(length_of(pair.src), length_of(pair.tgt) - 1);
    longest = std::max(longest, length);
    const auto rows =
        batches.empty() ? 0 : static_cast<int64_t>(batches.back().size());
    if (rows == 0 || longest * (rows + 1) > tokens) {
      batches.emplace_back();
      longest = length;
    }
    batches.back().push_back(index);
  }
  return batches;
}

Batches::Batches(const std::vector<Pair>& pairs, int64_t tokens, uint64_t seed)
    : pairs_(pairs), tokens_(tokens), seed_(seed) {
  if (pairs.empty()) {
    heed::fail("Batches", "pairs must not be empty");
  }
  start(0);
}

void Batches::start(int64_t epoch) {
  heed::Generator generator(seed_ + 1);
  generator.set_state({seed_ + 1, static_cast<uint64_t>(epoch) << 40});
  const auto shuffled = [&](size_t n) {
    const std::vector<int64_t> order =
        heed::randperm(static_cast<int64_t>(n), generator).to_vector<int64_t>();
    return std::vector<size_t>(order.begin(), order.end());
  };
  const std::vector<std::vector<size_t>> sorted =
      by_length(pairs_, shuffled(pairs_.size()), tokens_);
  batches_.clear();
  for (size_t i : shuffled(sorted.size())) {
    batches_.push_back(sorted[i]);
  }
  epoch_ = epoch;
  position_ = 0;
}

Batch Batches::next() {
  if (position_ == batches_per_epoch()) {
    start(epoch_ + 1);
  }
  return make_batch(pairs_, batches_[static_cast<size_t>(position_++)]);
}

void Batches::go_to(int64_t epoch, int64_t position) {
  if (epoch < 0) {
    heed::fail("Batches", "epoch must be >= 0, got ", epoch);
  }
  start(epoch);
  if (position < 0 || position > batches_per_epoch()) {
    heed::fail(
        "Batches",
        "position must be in [0, ",
        batches_per_epoch(),
        "], got ",
        position);
  }
  position_ = position;
}

}  // namespace translate
