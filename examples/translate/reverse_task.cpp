#include "examples/translate/reverse_task.h"

#include <heed/tensor/random.h>

#include <vector>

namespace translate {
namespace {

constexpr int64_t kSymbols = 50;
constexpr int64_t kTrainingPairs = 50'000;
constexpr int64_t kTrainingLength = 25;
constexpr int64_t kHeldOutPairs = 1'000;
constexpr int64_t kHeldOutLength = 30;

ParallelText draw(
    int64_t count, int64_t max_length, heed::Generator& generator) {
  ParallelText text;
  const std::vector<int64_t> lengths =
      heed::randint(1, max_length + 1, {count}, heed::kInt64, generator)
          .to_vector<int64_t>();
  for (int64_t length : lengths) {
    const std::vector<int64_t> numbers =
        heed::randint(0, kSymbols, {length}, heed::kInt64, generator)
            .to_vector<int64_t>();
    std::string forwards;
    std::string backwards;
    for (int64_t number : numbers) {
      const std::string word = std::to_string(number);
      const char* space = forwards.empty() ? "" : " ";
      forwards += space + word;
      backwards.insert(0, word + space);
    }
    text.add(forwards, backwards);
  }
  return text;
}

}  // namespace

Dataset reverse_task(uint64_t seed) {
  heed::Generator generator(seed);
  return {
      .train = draw(kTrainingPairs, kTrainingLength, generator),
      .valid = draw(kHeldOutPairs, kHeldOutLength, generator),
      .test = draw(kHeldOutPairs, kHeldOutLength, generator)};
}

}  // namespace translate
