#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(std::string(HEED_SOURCE_DIR "/") + path);
  REQUIRE_MESSAGE(file, path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("README: the first program is the example that CI runs") {
  const std::string readme = content_of("README.md");
  const std::string block =
      "```cpp\n" + content_of("examples/linear_regression.cpp") + "```\n";
  CHECK(readme.find(block) != std::string::npos);
}
