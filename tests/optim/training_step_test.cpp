// Losses, gradients and optimizers together.

#include <doctest/doctest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "autograd/cross_entropy.h"
#include "autograd/elementwise.h"
#include "autograd/embedding.h"
#include "autograd/reduction.h"
#include "optim/adam.h"
#include "tensor/creation.h"

using namespace heed;

namespace {

constexpr int64_t kIgnored = -100;

using Numbers = std::vector<double>;

/// Logits of two classes under which class 0 has the loss `loss`.
double other_logit(double loss) { return std::log(std::exp(loss) - 1); }

/// Logits [B, T, 2] = scale * x, in which every token's target is class 0.
Tensor logits_for(const std::vector<std::vector<double>>& losses) {
  const int64_t rows = static_cast<int64_t>(losses.size());
  const int64_t length = static_cast<int64_t>(losses[0].size());
  Tensor x = zeros({rows, length, 2}, kFloat64);
  double* v = x.mutable_data<double>();
  for (int64_t b = 0; b < rows; ++b) {
    for (int64_t t = 0; t < length; ++t) {
      v[(b * length + t) * 2 + 1] = other_logit(losses[b][t]);
    }
  }
  return x;
}

}  // namespace

TEST_CASE("accumulation: sums over tokens make parts of a batch the batch") {
  // One sentence of 1 token with loss 2, one of 3 tokens with loss 1 each.
  const Tensor a = logits_for({{2}});
  const Tensor b = logits_for({{1, 1, 1}});
  const Tensor a_targets = zeros({1, 1}, kInt64);
  const Tensor b_targets = zeros({1, 3}, kInt64);
  // Class 1 is more likely the larger the weight: a gradient to compare.
  const Variable weight(full({}, 1, kFloat64), true);

  const CrossEntropyOptions summed = {.reduction = Reduction::sum};
  double loss = 0;
  for (const auto& [x, targets] :
       std::vector<std::pair<Tensor, Tensor>>{{a, a_targets}, {b, b_targets}}) {
    const Variable part = cross_entropy(weight * x, targets, summed) / 4;
    part.backward();
    loss += part.item<double>();
  }
  const double gradient = weight.grad().item<double>();
  CHECK(loss == doctest::Approx(1.25).epsilon(1e-12));

  // The same as one batch, whatever its padding holds and however long it is.
  for (const int64_t padding : {0, 1, 4}) {
    Tensor x = full({2, 3 + padding, 2}, 7, kFloat64);
    x[0].slice(0, 0, 1).copy_(a[0]);
    x[1].slice(0, 0, 3).copy_(b[0]);
    Tensor targets = full({2, 3 + padding}, kIgnored, kInt64);
    targets[0].slice(0, 0, 1).fill_(0);
    targets[1].slice(0, 0, 3).fill_(0);
    weight.zero_grad();
    const Variable mean = cross_entropy(weight * x, targets);
    mean.backward();
    CHECK(mean.item<double>() == doctest::Approx(1.25).epsilon(1e-12));
    CHECK(
        weight.grad().item<double>() ==
        doctest::Approx(gradient).epsilon(1e-12));
  }
}

TEST_CASE("training: a batch of ignored targets leaves the weights unchanged") {
  for (const DType dtype : {kFloat32, kFloat64}) {
    const Variable logits(arange(1, 4).to(dtype).unsqueeze(0), true);
    Adam optimizer({logits}, {.lr = 0.1});
    const Variable loss = cross_entropy(logits, full({1}, kIgnored, kInt64));
    loss.backward();
    optimizer.step();
    CHECK(loss.item<double>() == 0);
    CHECK(logits.value().to_vector<double>() == Numbers{1, 2, 3});
  }
}

TEST_CASE("training: AdamW leaves an embedding's row of padding at zero") {
  Tensor table = ones({10, 8}, kFloat32);
  table[0].zero_();
  const Variable weight(table, true);
  AdamW optimizer({weight}, {.lr = 0.1, .weight_decay = 0.1});
  for (const int64_t count : {1, 768, 769, 1000}) {
    optimizer.zero_grad();
    Tensor ids = zeros({count}, kInt64);
    sum(embedding(weight, ids, 0)).backward();
    CHECK(weight.grad().value()[0].to_vector<double>() == Numbers(8, 0));
    optimizer.step();
    CHECK(table[0].to_vector<double>() == Numbers(8, 0));
    CHECK(table[1].to_vector<double>() != Numbers(8, 1));
  }
}
