#include "nn/module_list.h"

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>

#include "nn/linear.h"

using namespace heed;

TEST_CASE("ModuleList: holds modules under their numbers") {
  ModuleList<Linear> list;
  CHECK(list.size() == 0);
  Linear& first = list.emplace_back(2, 3);
  Linear& second = list.push_back(std::make_unique<Linear>(3, 4));
  CHECK(list.size() == 2);
  CHECK(&list[0] == &first);
  CHECK(&list[1] == &second);
  const auto named = list.named_parameters();
  CHECK(named[0].first == "0.weight");
  CHECK(named[3].first == "1.bias");
}

TEST_CASE("ModuleList: an index out of range or no module is an error") {
  ModuleList<Linear> list;
  list.emplace_back(2, 3);
  CHECK_THROWS_WITH_AS(
      list[1],
      "ModuleList: index must be in [0, 1), got 1",
      std::invalid_argument);
  CHECK_THROWS_AS(list[-1], std::invalid_argument);
  CHECK_THROWS_AS(list.push_back(nullptr), std::invalid_argument);
}
