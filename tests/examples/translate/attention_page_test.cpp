#include "examples/translate/attention_page.h"

#include <doctest/doctest.h>

#include "tests/examples/translate/small_model.h"

using namespace translate;

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
