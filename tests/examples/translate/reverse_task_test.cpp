#include "examples/translate/reverse_task.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "examples/translate/utf8.h"

using namespace translate;

TEST_CASE("reverse_task: the translation is the source said backwards") {
  const Dataset data = reverse_task(1);
  CHECK(data.train.size() == 50'000);
  CHECK(data.valid.size() == 1'000);
  size_t longest = 0;
  for (size_t i = 0; i < data.valid.size(); ++i) {
    std::vector<std::string> numbers = words(data.valid.src[i]);
    longest = std::max(longest, numbers.size());
    std::reverse(numbers.begin(), numbers.end());
    CHECK(numbers == words(data.valid.tgt[i]));
    CHECK(std::stoi(numbers.front()) < 50);
  }
  CHECK(longest == 30);
}

TEST_CASE("reverse_task: training pairs are shorter than the longest tested") {
  for (const std::string& line : reverse_task(1).train.src) {
    CHECK(words(line).size() <= 25);
  }
}
