#include "autograd/multi_head_attention.h"

#include <doctest/doctest.h>

#include <functional>
#include <vector>

#include "autograd/elementwise.h"
#include "autograd/gradcheck.h"
#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/memory.h"
#include "tensor/random.h"

using namespace heed;

namespace {

using Variables = std::vector<Variable>;
using Form = std::function<Variable(
    const Variable&,
    const Variable&,
    const Variable&,
    const Variable&,
    const Variable&)>;

constexpr int64_t kWidth = 24;
constexpr int64_t kHeads = 3;

Variable leaf(const Shape& shape, uint64_t seed) {
  Generator generator(seed);
  return Variable(randn(shape, kFloat64, generator), true);
}

Form fused(const AttentionOptions& options) {
  return [options](auto&... x) {
    return multi_head_attention(x..., kHeads, options);
  };
}

Form composed(const AttentionOptions& options) {
  return [options](auto&... x) {
    return multi_head_attention_with_weights(x..., kHeads, options).output;
  };
}

// The output and the gradients of what is given: one, two or three inputs, the
// weight and perhaps the bias.
std::vector<Tensor> all_of(const Form& form, int sources, bool bias) {
  const Variable q = leaf({2, 20, kWidth}, 1);
  const Variable k = sources == 1 ? q : leaf({2, 35, kWidth}, 2);
  const Variable v = sources < 3 ? k : leaf({2, 35, kWidth}, 3);
  const Variable weight = leaf({3 * kWidth, kWidth}, 4);
  const Variable b = bias ? leaf({3 * kWidth}, 5) : Variable();
  const Variable y = form(q, k, v, weight, b);
  y.backward(leaf(y.shape(), 6).detach());
  std::vector<Tensor> all = {y.value()};
  for (const Variable& x : {q, k, v, weight, b}) {
    if (x.defined()) {
      all.push_back(x.grad().value());
    }
  }
  return all;
}

}  // namespace

TEST_CASE("multi-head attention: one operation gives what many give") {
  const AttentionOptions options{.dropout = 0.3, .start = {5, 1}};
  for (const int sources : {1, 2, 3}) {
    for (const bool bias : {false, true}) {
      const auto found = all_of(fused(options), sources, bias);
      const auto expected = all_of(composed(options), sources, bias);
      for (size_t i = 0; i < found.size(); ++i) {
        CAPTURE(i);
        CHECK(allclose(found[i], expected[i], 1e-10, 1e-11));
      }
    }
  }
}

TEST_CASE("multi-head attention: packed, one operation gives what many give") {
  const Packing queries(tensor(
      {{false, false, true, false}, {false, true, true, true}}));  // 4 tokens
  const Packing keys(2, 3);
  const AttentionOptions options{
      .mask = {.query_packing = queries, .key_packing = keys}, .dropout = 0.3};
  const auto all = [](const Form& form) {
    const Variable query = leaf({1, 4, kWidth}, 1);
    const Variable memory = leaf({1, 6, kWidth}, 2);
    const Variable weight = leaf({3 * kWidth, kWidth}, 4);
    const Variable bias = leaf({3 * kWidth}, 5);
    const Variable y = form(query, memory, memory, weight, bias);
    y.backward(leaf(y.shape(), 6).detach());
    std::vector<Tensor> result = {y.value()};
    for (const Variable& x : {query, memory, weight, bias}) {
      result.push_back(x.grad().value());
    }
    return result;
  };
  const std::vector<Tensor> found = all(fused(options));
  const std::vector<Tensor> expected = all(composed(options));
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(allclose(found[i], expected[i], 1e-11, 1e-12));
  }
}

TEST_CASE("project_heads: only q, k and v can be asked for") {
  const Variable x(ones({1, 2, 4}));
  const Variable weight(ones({12, 4}));
  CHECK(project_heads(x, weight, {}, 2, 0, 3).size() == 3);
  CHECK_THROWS_WITH_AS(
      project_heads(x, weight, {}, 2, 2, 2),
      "project_heads: first and count must be within q, k and v, got 2 and 2",
      std::invalid_argument);
  CHECK_THROWS_AS(project_heads(x, weight, {}, 2, 0, 0), std::invalid_argument);
  CHECK_THROWS_AS(
      project_heads(x, weight, {}, 2, -1, 1), std::invalid_argument);
}

TEST_CASE("multi-head attention: a gradient that is no dense array") {
  const Variable x = leaf({2, 5, kWidth}, 1);
  const Variable weight = leaf({3 * kWidth, kWidth}, 2);
  const Tensor dy = leaf({2, 5, 1}, 3).value().expand({2, 5, kWidth});
  const auto gradient = [&](const Form& form) {
    return grad(
               {form(x, x, x, weight, Variable())},
               {x},
               {.grad_outputs = {dy}})[0]
        .value();
  };
  CHECK(allclose(gradient(fused({})), gradient(composed({})), 1e-10, 1e-11));
}

TEST_CASE("multi-head attention: an input may be made of another's weight") {
  const auto twice = [](const Variables& in) {
    const Variable& x = in[0];
    const Variable& w = in[1];
    const Variable y = multi_head_attention(x, x, x, w, {}, 1);
    return multi_head_attention(y, x, x, w, {}, 2);
  };
  const Variables leaves = {leaf({1, 2, 2}, 1), leaf({6, 2}, 2)};
  const GradcheckReport first = gradcheck(twice, leaves);
  CHECK_MESSAGE(first, first.message);
  const GradcheckReport second = gradgradcheck(twice, leaves);
  CHECK_MESSAGE(second, second.message);
}

TEST_CASE("multi-head attention: the weight's gradient is made once") {
  // As two slices of the weight, each would be filled up to the whole.
  constexpr int64_t kLarge = 96;
  const Variable q = leaf({1, 1, kLarge}, 1).detach();
  const Variable memory = leaf({1, 1, kLarge}, 2).detach();
  const Variable weight = leaf({3 * kLarge, kLarge}, 3);
  const Variable y =
      multi_head_attention(q, memory, memory, weight, {}, kHeads);
  const Tensor dy = ones(y.shape(), kFloat64);
  const int64_t live = memory_stats().live_bytes;
  reset_peak_memory();
  y.backward(dy);
  const int64_t peak = memory_stats().peak_bytes - live;
  CHECK(2 * peak < 3 * weight.numel() * itemsize(kFloat64));
}
