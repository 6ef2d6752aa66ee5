#include "examples/translate/attention_weights.h"

#include <doctest/doctest.h>
#include <heed/tensor/creation.h>
#include <heed/tensor/reduction.h>

#include <stdexcept>

#include "examples/translate/translator.h"
#include "tests/examples/translate/small_model.h"

using namespace translate;

TEST_CASE("attention_of: every head of every layer, each row a distribution") {
  const auto model = small_model();
  const Ids ids = model->vocabulary->encode("zweihunderteins");
  const Attention attention = attention_of(*model, "two hundred and one", ids);
  CHECK(attention.translation == "zweihunderteins");
  CHECK(attention.kinds.size() == 3);
  for (const AttentionKind& kind : attention.kinds) {
    CHECK(kind.layers.size() == (kind.name == "encoder" ? 1 : 2));
    for (const heed::Tensor& heads : kind.layers) {
      CHECK(
          heads.shape() == heed::Shape(
                               {2,
                                static_cast<int64_t>(kind.rows.size()),
                                static_cast<int64_t>(kind.columns.size())}));
      for (double sum : heed::sum(heads, -1).to_vector<double>()) {
        CHECK(sum == doctest::Approx(1));
      }
    }
  }
  const AttentionKind& cross = attention.kinds.front();
  CHECK(
      cross.rows ==
      std::vector<std::string>{"zwei", "\u00b7hundert", "\u00b7eins", "</s>"});
  CHECK(
      cross.columns ==
      std::vector<std::string>{"two", "hundred", "and", "one", "</s>"});
  CHECK(alignment_map(attention).weights.shape() == heed::Shape({4, 5}));
}

TEST_CASE("attention_of: a blank line is refused") {
  const auto model = small_model();
  CHECK_THROWS_AS(attention_of(*model, " ", {}), std::invalid_argument);
}

TEST_CASE("attention_of: of a long line, what was translated and no more") {
  const auto model = small_model();
  std::string line;
  for (int i = 0; i < 10'000; ++i) {
    line += "seven ";
  }
  const Attention attention = attention_of(*model, line, {});
  CHECK(attention.cut);
  CHECK(attention.source.size() < 6 * kMaxSourceTokens);
  CHECK(attention.kinds[0].columns.size() == kMaxSourceTokens);
  CHECK(attention.kinds[0].columns.back() == "</s>");
  CHECK(!attention_of(*model, "seven", {}).cut);
}

TEST_CASE("alignment_map: the mean of all layers and heads") {
  Attention attention;
  attention.kinds.push_back(
      {"cross",
       "Cross",
       {"row"},
       {"one", "two"},
       {heed::tensor({{{1.0, 0.0}}, {{0.5, 0.5}}}),
        heed::tensor({{{0.25, 0.75}}, {{0.25, 0.75}}})}});
  CHECK(
      alignment_map(attention).weights.to_vector<double>() ==
      std::vector<double>{0.5, 0.5});
  const examples::HeatMap map = head_map(attention.kinds[0], 1, 0);
  CHECK(map.weights.to_vector<double>() == std::vector<double>{0.25, 0.75});
  CHECK(map.title == "Cross, layer 2, head 1");
}
