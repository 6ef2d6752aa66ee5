#include "examples/translate/curves.h"

#include <doctest/doctest.h>

#include "tests/temporary_folder.h"

using namespace translate;

namespace {

std::string drawn(double label_smoothing, double bleu) {
  const heed::TemporaryFolder folder;
  const std::string path = folder / "curves.svg";
  draw_curves(
      path,
      {{{"step", 50}, {"loss", 3.5}},
       {{"step", 100}, {"valid_loss", 2.5}, {"valid_bleu", bleu}}},
      label_smoothing);
  return heed::read_bytes(path);
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("draw_curves: says where the training's loss is another one") {
  CHECK(contains(drawn(0, 0), ">training</text>"));
  CHECK(contains(drawn(0.1, 0), ">training, label smoothing 0.1</text>"));
}

TEST_CASE("draw_curves: an axis of zeros goes to 1") {
  const std::string picture = drawn(0, 0);
  CHECK(contains(picture, ">0.8</text>"));
  CHECK(!contains(picture, "e-1"));
  CHECK(contains(drawn(0, 40), ">40</text>"));
}
