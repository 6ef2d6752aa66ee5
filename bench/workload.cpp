#include "bench/workload.h"

#include <cstdio>
#include <stdexcept>

namespace bench {
namespace {

// splitmix64 (Steele et al. 2014): the same numbers in every program.
class RandomNumbers {
 public:
  explicit RandomNumbers(uint64_t seed) : state_(seed) {}

  int64_t below(int64_t n) {
    return static_cast<int64_t>(next() % static_cast<uint64_t>(n));
  }
  int64_t between(int64_t low, int64_t high) {
    return low + below(high - low + 1);
  }

 private:
  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

}  // namespace

const std::vector<Seq2SeqWorkload>& seq2seq_workloads() {
  // name, vocabulary, layers, d_model, d_ff, heads, batch, src, tgt, tied,
  // min_length, smoothing, dropout
  static const std::vector<Seq2SeqWorkload> all = {
      {"copy", 11, 2, 512, 2048, 8, 80, 10, 9, false, 0, 0.0, 0.1},
      {"tiny", 64, 2, 64, 256, 4, 32, 16, 16, false, 0, 0.0, 0.1},
      {"small", 4000, 3, 256, 1024, 4, 64, 24, 24, true, 8, 0.1, 0.1},
      {"base", 8000, 6, 512, 2048, 8, 32, 32, 32, true, 0, 0.1, 0.1},
  };
  return all;
}

const Seq2SeqWorkload& seq2seq_workload(const std::string& name) {
  for (const Seq2SeqWorkload& workload : seq2seq_workloads()) {
    if (workload.name == name) {
      return workload;
    }
  }
  throw std::invalid_argument("there is no workload \"" + name + "\"");
}

Seq2SeqBatch make_batch(const Seq2SeqWorkload& workload, uint64_t seed) {
  const int64_t src_length = workload.src_length;
  const int64_t tgt_length = workload.tgt_length;
  RandomNumbers random(seed);
  const auto token = [&] { return random.between(1, workload.vocabulary - 1); };
  Seq2SeqBatch batch;
  batch.src.resize(workload.batch * src_length);
  batch.tgt.resize(workload.batch * tgt_length);
  batch.targets.resize(workload.batch * tgt_length);
  for (int64_t b = 0; b < workload.batch; ++b) {
    int64_t src_tokens = src_length;
    int64_t tgt_tokens = tgt_length;
    if (workload.padded()) {
      src_tokens = random.between(workload.min_length, src_length);
      tgt_tokens = random.between(workload.min_length, tgt_length);
      if (b == 0) {  // the batch always has full width
        src_tokens = src_length;
        tgt_tokens = tgt_length;
      }
    }
    int64_t* src = batch.src.data() + b * src_length;
    int64_t* tgt = batch.tgt.data() + b * tgt_length;
    int64_t* targets = batch.targets.data() + b * tgt_length;
    for (int64_t i = 0; i < src_tokens; ++i) {
      src[i] = token();
    }
    if (workload.name == "copy") {
      src[0] = 1;
      for (int64_t i = 0; i < tgt_tokens; ++i) {
        tgt[i] = src[i];
        targets[i] = src[i + 1];
      }
    } else {
      int64_t previous = 1;
      for (int64_t i = 0; i < tgt_tokens; ++i) {
        tgt[i] = previous;
        targets[i] = previous = token();
      }
    }
    batch.src_tokens += src_tokens;
    batch.tgt_tokens += tgt_tokens;
  }
  return batch;
}

std::vector<Seq2SeqBatch> training_batches(const Seq2SeqWorkload& workload) {
  std::vector<Seq2SeqBatch> batches;
  for (uint64_t i = 0; i < 16; ++i) {
    batches.push_back(make_batch(workload, 100 + i));
  }
  return batches;
}

std::vector<int64_t> gpt_ids(const GptWorkload& workload) {
  RandomNumbers random(7);
  std::vector<int64_t> ids(workload.batch * (workload.length + 1));
  for (int64_t& id : ids) {
    id = random.below(workload.vocabulary);
  }
  return ids;
}

Seq2SeqWorkload decoding_workload(int64_t batch) {
  Seq2SeqWorkload workload = seq2seq_workload("small");
  workload.batch = batch;
  workload.min_length = 0;
  return workload;
}

std::string SearchWorkload::name() const {
  return "decode:" + model.name + ",beam=" + std::to_string(beam_size) +
         ",batch=" + std::to_string(model.batch);
}

SearchWorkload search_workload(const std::string& name) {
  char model[32] = {};
  long long beam = 0;
  long long batch = 0;
  int read = 0;
  const int found = std::sscanf(
      name.c_str(),
      "decode:%31[a-z0-9],beam=%lld,batch=%lld%n",
      model,
      &beam,
      &batch,
      &read);
  if (found != 3 || read != static_cast<int>(name.size()) || beam < 1 ||
      batch < 1) {
    throw std::invalid_argument(
        "a decoding workload reads \"decode:multi30k,beam=5,batch=32\", got "
        "\"" +
        name + "\"");
  }
  const Seq2SeqWorkload multi30k = {
      "multi30k", 10000, 4, 128, 256, 4, 1, 16, 16, true, 0, 0.0, 0.3};
  SearchWorkload workload{
      model == multi30k.name ? multi30k : seq2seq_workload(model), beam};
  workload.model.batch = batch;
  workload.model.min_length = 0;
  return workload;
}

std::string ScalingWorkload::name() const {
  return "scaling:d=" + std::to_string(d_model) +
         ",T=" + std::to_string(length) + ",B=" + std::to_string(batch);
}

ScalingWorkload scaling_workload(const std::string& name) {
  long long d = 0;
  long long t = 0;
  long long b = 0;
  int read = 0;
  const int found = std::sscanf(
      name.c_str(), "scaling:d=%lld,T=%lld,B=%lld%n", &d, &t, &b, &read);
  if (found != 3 || read != static_cast<int>(name.size()) || d < 1 || t < 1 ||
      b < 1) {
    throw std::invalid_argument(
        "a scaling workload reads \"scaling:d=256,T=64,B=32\", got \"" + name +
        "\"");
  }
  return {d, t, b};
}

}  // namespace bench
