#include "examples/translate/attention_page.h"

#include <doctest/doctest.h>

#include <stdexcept>

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
      const std::vector<double> weights = heads[1].to_vector<double>();
      double sum = 0;
      for (size_t i = 0; i < kind.columns.size(); ++i) {
        sum += weights[i];
      }
      CHECK(sum == doctest::Approx(1));
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

TEST_CASE("attention_page: one file that no text can break out of") {
  const auto model = small_model();
  Attention attention = attention_of(*model, "one", {});
  attention.source = "</script><script>alert(1)</script>";
  attention.translation = "a \"quote\" \\ \u00fc";
  const std::string page = attention_page(attention);
  CHECK(page.find("alert(1)<") == std::string::npos);
  CHECK(page.find("\\u003c/script>\\u003cscript>") != std::string::npos);
  CHECK(page.find("a \\\"quote\\\" \\\\ \u00fc") != std::string::npos);
  CHECK(page.find("const data = {\"source\"") != std::string::npos);
  for (const char* outside : {"http://", "https://", "src=", "@import"}) {
    CHECK(page.find(outside) == std::string::npos);
  }
}
