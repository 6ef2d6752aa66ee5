#include "nn/evaluation.h"

#include <doctest/doctest.h>

#include "nn/dropout.h"
#include "nn/linear.h"
#include "nn/sequential.h"
#include "tensor/creation.h"

using namespace heed;

TEST_CASE("Evaluation: no dropout and no recording while it lives") {
  Sequential net;
  net.add<Linear>(2, 2);
  const Dropout& dropout = net.add<Dropout>();
  {
    const Evaluation evaluation(net);
    CHECK_FALSE(dropout.is_training());
    CHECK_FALSE(net(ones({1, 2})).requires_grad());
  }
  CHECK(net.is_training());
  CHECK(dropout.is_training());
  CHECK(net(ones({1, 2})).requires_grad());
}

TEST_CASE("Evaluation: every module gets its own mode back") {
  Sequential net;
  Sequential& frozen = net.add<Sequential>();
  Dropout& inner = frozen.add<Dropout>();
  Dropout& outer = net.add<Dropout>();
  frozen.eval();
  { const Evaluation evaluation(net); }
  CHECK(net.is_training());
  CHECK(outer.is_training());
  CHECK_FALSE(frozen.is_training());
  CHECK_FALSE(inner.is_training());
  net.eval();
  inner.train();
  { const Evaluation evaluation(net); }
  CHECK_FALSE(net.is_training());
  CHECK(inner.is_training());
}
