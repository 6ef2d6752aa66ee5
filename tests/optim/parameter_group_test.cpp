#include "optim/parameter_group.h"

#include <doctest/doctest.h>

#include "optim/adam.h"

using namespace heed;

TEST_CASE("group_by_name: no weight decay on biases takes two lines") {
  const auto leaf = [] {
    return Variable(Tensor({2}, kFloat64).fill_(1), true);
  };
  const std::vector<std::pair<std::string, Variable>> named = {
      {"linear1.weight", leaf()},
      {"linear1.bias", leaf()},
      {"norm.weight", leaf()},
      {"linear2.weight", leaf()},
  };
  const auto [plain, decayed] = group_by_name(named, [](const auto& name) {
    return name.ends_with("bias") || name.find("norm") != std::string::npos;
  });
  AdamW optimizer(
      {{decayed, {.lr = 0.1, .weight_decay = 0.5}},
       {plain, {.lr = 0.1, .weight_decay = 0}}});

  REQUIRE(plain.size() == 2);
  REQUIRE(decayed.size() == 2);
  CHECK(plain[0].node() == named[1].second.node());
  CHECK(plain[1].node() == named[2].second.node());
  CHECK(decayed[0].node() == named[0].second.node());
  CHECK(decayed[1].node() == named[3].second.node());
  for (const auto& [name, p] : named) {
    p.set_grad(Tensor({2}, kFloat64).fill_(0));
  }
  optimizer.step();
  for (const Variable& p : plain) {
    CHECK(p.value()[0].item<double>() == 1);
  }
  for (const Variable& p : decayed) {
    CHECK(p.value()[0].item<double>() == 0.95);
  }
}
