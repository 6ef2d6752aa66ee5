#include "autograd/attention.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "autograd/gradcheck.h"
#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/elementwise.h"
#include "tensor/memory.h"
#include "tensor/parallel.h"
#include "tensor/random.h"
#include "tensor/reduction.h"

using namespace heed;

namespace {

using Tensors = std::vector<Tensor>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor drawn(const Shape& shape, uint64_t seed, DType dtype = kFloat64) {
  Generator generator(seed);
  return randn(shape, dtype, generator);
}

struct Sizes {
  int64_t batch;
  int64_t heads;
  int64_t queries;
  int64_t keys;
  int64_t head_dim;
  int64_t value_dim;
};

// q, k and v.
Tensors inputs_of(const Sizes& s, DType dtype = kFloat64) {
  return {
      drawn({s.batch, s.heads, s.queries, s.head_dim}, 1, dtype),
      drawn({s.batch, s.heads, s.keys, s.head_dim}, 2, dtype),
      drawn({s.batch, s.heads, s.keys, s.value_dim}, 3, dtype)};
}

// The output and the gradients of q, k and v, with a random cotangent.
template <typename F>
Tensors all_of(const F& f, const Tensors& in, const AttentionOptions& options) {
  const Variable q(in[0], true);
  const Variable k(in[1], true);
  const Variable v(in[2], true);
  const Variable y = f(q, k, v, options);
  y.backward(drawn(y.shape(), 4, y.dtype()));
  return {y.value(), q.grad().value(), k.grad().value(), v.grad().value()};
}

Tensors fused(const Tensors& in, const AttentionOptions& options = {}) {
  return all_of(attention, in, options);
}

Tensors composed(const Tensors& in, const AttentionOptions& options = {}) {
  return all_of(
      [](const Variable& q,
         const Variable& k,
         const Variable& v,
         const AttentionOptions& o) {
        return attention_with_weights(q, k, v, o).output;
      },
      in,
      options);
}

void check_same_as_composed(
    const Sizes& s, DType dtype, const AttentionOptions& options = {}) {
  CAPTURE(s.queries);
  CAPTURE(s.keys);
  CAPTURE(s.head_dim);
  CAPTURE(s.value_dim);
  const Tensors in = inputs_of(s, dtype);
  const Tensors found = fused(in, options);
  const Tensors expected = composed(in, options);
  const double tolerance = dtype == kFloat32 ? 3e-5 : 1e-11;
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(allclose(found[i], expected[i], tolerance, tolerance));
  }
}

// true with probability p.
Tensor hidden(const Shape& shape, double p, uint64_t seed) {
  Generator generator(seed);
  return bernoulli(p, shape, kBool, generator);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  const std::vector<float> x = a.to_vector<float>();
  const std::vector<float> y = b.to_vector<float>();
  return x.size() == y.size() &&
         (x.empty() ||
          std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0);
}

// First and second derivatives of q, k and v.
void check_derivatives(const Tensors& in, const AttentionOptions& options) {
  const auto f = [&](const std::vector<Variable>& x) {
    return attention(x[0], x[1], x[2], options);
  };
  const std::vector<Variable> leaves = {
      Variable(in[0], true), Variable(in[1], true), Variable(in[2], true)};
  const GradcheckReport first = gradcheck(f, leaves);
  CHECK_MESSAGE(first, first.message);
  const GradcheckReport second = gradgradcheck(f, leaves);
  CHECK_MESSAGE(second, second.message);
}

}  // namespace

TEST_CASE("attention: tiles give what the written-out form gives") {
  for (const int64_t queries : {1, 3, 17, 33, 65}) {
    for (const int64_t keys : {1, 3, 17, 65, 150}) {
      check_same_as_composed({2, 1, queries, keys, 17, 33}, kFloat32);
      check_same_as_composed({1, 2, queries, keys, 16, 3}, kFloat64);
    }
  }
  for (const int64_t head_dim : {1, 3, 16, 33, 64, 65, 130}) {
    check_same_as_composed({1, 2, 20, 40, head_dim, 32}, kFloat32);
    check_same_as_composed({1, 2, 20, 40, 32, head_dim}, kFloat32);
    check_same_as_composed({2, 1, 5, 7, head_dim, head_dim}, kFloat64);
  }
}

TEST_CASE(
    "attention: few heads of many queries, whose backward is shared out") {
  for (const DType dtype : {kFloat32, kFloat64}) {
    check_same_as_composed({1, 1, 700, 90, 16, 16}, dtype);
    check_same_as_composed(
        {1, 3, 300, 300, 8, 24}, dtype, {.mask = {.is_causal = true}});
  }
}

TEST_CASE("attention: causal, with fewer, as many and more queries than keys") {
  const AttentionOptions causal{.mask = {.is_causal = true}};
  for (const int64_t queries : {1, 3, 17, 33, 65, 200}) {
    for (const int64_t keys : {1, 3, 17, 65, 200}) {
      check_same_as_composed({2, 1, queries, keys, 16, 16}, kFloat32, causal);
      check_same_as_composed({1, 2, queries, keys, 3, 5}, kFloat64, causal);
    }
  }
}

TEST_CASE("attention: masks of every kind and shape, together") {
  const Sizes s{2, 3, 40, 150, 16, 16};
  const Tensor padding = hidden({2, 150}, 0.3, 5);
  for (const DType dtype : {kFloat32, kFloat64}) {
    check_same_as_composed(s, dtype, {.mask = {.padding = padding}});
    for (const Shape& shape :
         {Shape{2, 3, 40, 150},
          Shape{2, 1, 1, 150},
          Shape{3, 40, 1},
          Shape{40, 150},
          Shape{150},
          Shape{}}) {
      CAPTURE(shape.size());
      const Tensor bools = hidden(shape, 0.3, 6);
      const Tensor floats = drawn(shape, 7, dtype);
      check_same_as_composed(s, dtype, {.mask = {.hidden = bools}});
      check_same_as_composed(s, dtype, {.mask = {.added = floats}});
      check_same_as_composed(
          s,
          dtype,
          {.mask = {
               .padding = padding,
               .hidden = bools,
               .added = floats,
               .is_causal = true}});
    }
    // Strides that no broadcasting gives.
    check_same_as_composed(
        s,
        dtype,
        {.mask = {
             .padding = hidden({150, 2}, 0.3, 5).transpose(0, 1),
             .hidden =
                 hidden({150, 80}, 0.3, 6).transpose(0, 1).slice(0, 0, 80, 2),
             .added = drawn({150, 40}, 7, dtype).transpose(0, 1)}});
  }
}

TEST_CASE("attention: masks for a few queries alone, as in decoding") {
  for (const int64_t queries : {1, 2, 4}) {
    for (const DType dtype : {kFloat32, kFloat64}) {
      const Sizes s{2, 3, queries, 75, 20, 33};
      check_same_as_composed(
          s,
          dtype,
          {.mask = {
               .padding = hidden({2, 75}, 0.3, 5),
               .hidden = hidden({3, 1, 75}, 0.3, 6),
               .added = drawn({queries, 75}, 7, dtype),
               .is_causal = true}});
      check_same_as_composed(
          s, dtype, {.mask = {.padding = ones({2, 75}, kBool)}});
    }
  }
}

TEST_CASE("attention: dropout drops what it drops in the written-out form") {
  for (const double p : {0.1, 0.5, 1.0}) {
    CAPTURE(p);
    for (const DType dtype : {kFloat32, kFloat64}) {
      const AttentionOptions options{.dropout = p, .start = {7, 3}};
      check_same_as_composed({2, 3, 10, 10, 16, 16}, dtype, options);
      check_same_as_composed({2, 2, 1, 7, 16, 16}, dtype, options);
      check_same_as_composed({1, 2, 65, 33, 3, 3}, dtype, options);
      check_same_as_composed({2, 1, 40, 300, 16, 16}, dtype, options);
      check_same_as_composed(
          {2, 2, 70, 130, 16, 16},
          dtype,
          {.mask = {.padding = hidden({2, 130}, 0.2, 5), .is_causal = true},
           .dropout = p,
           .start = {7, 3}});
    }
  }
}

TEST_CASE("attention: packed sequences are what each of them is alone") {
  const int64_t lengths[][2] = {
      {5, 9}, {40, 40}, {0, 3}, {4, 0}, {0, 0}, {150, 70}, {1, 200}, {33, 1}};
  constexpr int64_t kCount = std::size(lengths);
  for (const bool is_causal : {false, true}) {
    for (const int64_t heads : {1, 3}) {
      Tensor query_padding = ones({kCount, 150}, kBool);
      Tensor key_padding = ones({kCount, 200}, kBool);
      for (int64_t b = 0; b < kCount; ++b) {
        query_padding[b].slice(0, 0, lengths[b][0]).zero_();
        key_padding[b].slice(0, 0, lengths[b][1]).zero_();
      }
      const AttentionMask mask{
          .is_causal = is_causal,
          .query_packing = Packing(query_padding),
          .key_packing = Packing(key_padding)};
      const Tensors in = inputs_of(
          {1,
           heads,
           mask.query_packing.tokens(),
           mask.key_packing.tokens(),
           16,
           8},
          kFloat32);
      const Tensors found = fused(in, {.mask = mask});
      const Tensor dy = drawn(found[0].shape(), 4, kFloat32);
      for (int64_t b = 0; b < kCount; ++b) {
        CAPTURE(b);
        const auto own = [&](const Tensor& x, const Packing& packing) {
          return x.slice(2, packing.starts()[b], packing.starts()[b + 1]);
        };
        const auto of_query = [&](const Tensor& x) {
          return own(x, mask.query_packing);
        };
        const auto of_key = [&](const Tensor& x) {
          return own(x, mask.key_packing);
        };
        const Variable q(of_query(in[0]).clone(), true);
        const Variable k(of_key(in[1]).clone(), true);
        const Variable v(of_key(in[2]).clone(), true);
        const Variable y =
            attention(q, k, v, {.mask = {.is_causal = is_causal}});
        y.backward(of_query(dy));
        CHECK(same_bits(of_query(found[0]), y.value()));
        CHECK(same_bits(of_query(found[1]), q.grad().value()));
        const auto close = [](const Tensor& x, const Variable& leaf) {
          return allclose(x, leaf.grad().value(), 3e-5, 3e-5);
        };
        CHECK(close(of_key(found[2]), k));
        CHECK(close(of_key(found[3]), v));
      }
    }
  }
}

TEST_CASE("attention: few packed heads, whose backward is shared out") {
  Tensor padding = zeros({2, 700}, kBool);
  padding[1].slice(0, 300, 700).fill_(1);
  const Packing packing(padding);
  check_same_as_composed(
      {1, 1, 1000, 1000, 16, 8},
      kFloat64,
      {.mask = {
           .is_causal = true,
           .query_packing = packing,
           .key_packing = packing}});
}

TEST_CASE("attention: packings that do not fit are errors") {
  const Packing packing(2, 3);
  const auto refuses = [&](const Tensor& q, const AttentionMask& mask) {
    CHECK_THROWS_AS(attention(q, q, q, {.mask = mask}), std::invalid_argument);
    CHECK_THROWS_AS(
        attention_with_weights(q, q, q, {.mask = mask}), std::invalid_argument);
  };
  const AttentionMask fitting{.query_packing = packing, .key_packing = packing};
  attention(
      ones({1, 2, 6, 4}),
      ones({1, 2, 6, 4}),
      ones({1, 2, 6, 4}),
      {.mask = fitting});
  refuses(ones({1, 2, 5, 4}), fitting);
  refuses(ones({1, 2, 7, 4}), fitting);
  refuses(ones({2, 2, 6, 4}), fitting);
  refuses(ones({1, 2, 6, 4}), {.query_packing = packing});
  AttentionMask masked = fitting;
  masked.padding = zeros({2, 3}, kBool);
  refuses(ones({1, 2, 6, 4}), masked);
  masked = fitting;
  masked.hidden = zeros({3, 3}, kBool);
  refuses(ones({1, 2, 6, 4}), masked);
}

TEST_CASE("attention: packed, it drops what it drops when written out") {
  const Packing queries(hidden({4, 60}, 0.3, 8));
  const Packing keys(hidden({4, 70}, 0.3, 9));
  for (const bool is_causal : {false, true}) {
    check_same_as_composed(
        {1, 2, queries.tokens(), keys.tokens(), 16, 16},
        kFloat64,
        {.mask =
             {.is_causal = is_causal,
              .query_packing = queries,
              .key_packing = keys},
         .dropout = 0.4,
         .start = {7, 5}});
  }
}

TEST_CASE("attention: derivatives, first and second, with masks and dropout") {
  const Tensors in = inputs_of({2, 2, 3, 4, 2, 3});
  Tensor padding = zeros({2, 4}, kBool);
  padding.select(1, 1).fill_(1);
  padding.select(0, 1).fill_(1);  // the second sentence sees nothing
  check_derivatives(in, {.mask = {.padding = padding}});
  check_derivatives(
      in, {.mask = {.added = drawn({2, 1, 3, 4}, 8), .is_causal = true}});
  check_derivatives(
      in, {.mask = {.hidden = hidden({3, 4}, 0.3, 9)}, .dropout = 0.4});
}

TEST_CASE("attention: derivatives, first and second, of packed sequences") {
  const Packing queries(tensor({{false, true, false}, {false, true, true}}));
  const Packing keys(tensor({{false, true}, {false, false}}));
  check_derivatives(
      inputs_of({1, 2, 3, 3, 2, 3}),
      {.mask = {.query_packing = queries, .key_packing = keys},
       .dropout = 0.4});
}

TEST_CASE("attention: a query that sees no key gives zeros, and gets zeros") {
  const Tensors in = inputs_of({2, 2, 40, 70, 16, 16}, kFloat32);
  const auto check = [&](const AttentionMask& mask, const auto& blind) {
    const Tensors found = fused(in, {.mask = mask});
    for (const Tensor& x : found) {
      CHECK(all(isfinite(x)).item<bool>());
    }
    for (const size_t i : {0, 1}) {  // the output and dq
      const Tensor part = blind(found[i]);
      CHECK(equal(part, zeros_like(part)));
      CHECK_FALSE(equal(found[i], zeros_like(found[i])));
    }
  };
  Tensor padding = zeros({2, 70}, kBool);
  padding.select(0, 1).fill_(1);
  check({.padding = padding}, [](const Tensor& x) { return x[1]; });
  Tensor row = zeros({40, 70}, kBool);
  row.select(0, 5).fill_(1);
  const auto query_5 = [](const Tensor& x) { return x.select(2, 5); };
  check({.hidden = row}, query_5);
  check({.added = zeros({40, 70}).masked_fill_(row, -INFINITY)}, query_5);
}

TEST_CASE("attention: what padded keys hold, NaN included, changes nothing") {
  for (const DType dtype : {kFloat32, kFloat64}) {
    const Tensors clean = inputs_of({2, 2, 20, 200, 16, 16}, dtype);
    Tensor padding = hidden({2, 200}, 0.2, 5);
    padding.slice(1, 150, 200).fill_(1);
    const AttentionOptions options{.mask = {.padding = padding}};
    const Tensors expected = fused(clean, options);
    Tensors dirty = {clean[0], clean[1].clone(), clean[2].clone()};
    const Tensor keys = padding.unsqueeze(1).unsqueeze(3);  // [B, 1, S, 1]
    dirty[1].masked_fill_(keys.expand(dirty[1].shape()), kNan);
    dirty[2].masked_fill_(keys.expand(dirty[2].shape()), INFINITY);
    const Tensors found = fused(dirty, options);
    for (size_t i = 0; i < found.size(); ++i) {
      CHECK(equal(found[i], expected[i]));
    }
  }
}

TEST_CASE("attention: the future changes no bit of the past") {
  Tensors in = inputs_of({1, 2, 70, 70, 16, 16}, kFloat32);
  const AttentionOptions causal{.mask = {.is_causal = true}};
  const Tensor before = attention(in[0], in[1], in[2], causal).value();
  for (Tensor& x : in) {
    x.slice(2, 41, 70).mul_(-3);
  }
  const Tensor after = attention(in[0], in[1], in[2], causal).value();
  CHECK(equal(after.slice(2, 0, 41), before.slice(2, 0, 41)));
  CHECK_FALSE(equal(after, before));
}

TEST_CASE("attention: a NaN among what a query sees is not hidden") {
  Tensors in = inputs_of({1, 1, 4, 6, 3, 3}, kFloat32);
  in[0][0][0][2].fill_(kNan);
  const Tensor y = attention(in[0], in[1], in[2]).value()[0][0];
  CHECK(all(isnan(y[2])).item<bool>());
  CHECK(all(isfinite(y[1])).item<bool>());
}

TEST_CASE("attention: large scores lose nothing") {
  // Scores of 1e8, all equal, where 1e8 + log 2 is 1e8 again.
  const Tensor q = full({1, 1, 1, 1}, 1e4);
  const Tensor k = full({1, 1, 2, 1}, 1e4);
  const Tensor v = tensor({{1.0}, {2.0}}).reshape({1, 1, 2, 1});
  const Tensors found = fused({q, k, v});
  CHECK(found[0].item<double>() == doctest::Approx(1.5));
  const double dy = drawn({1, 1, 1, 1}, 4, kFloat32).item<double>();
  CHECK(found[3].to_vector<float>()[0] == doctest::Approx(dy / 2));
  CHECK(found[3].to_vector<float>()[1] == doctest::Approx(dy / 2));
}

TEST_CASE("attention: the same bits for 1, 2 and 4 threads") {
  const int before = num_threads();
  for (const Sizes& s :
       {Sizes{3, 5, 10, 10, 16, 16},
        Sizes{1, 3, 70, 130, 33, 32},
        Sizes{1, 1, 700, 700, 16, 16}}) {
    const Tensors in = inputs_of(s, kFloat32);
    const AttentionOptions options{
        .mask = {.is_causal = true}, .dropout = 0.1, .start = {1, 1}};
    set_num_threads(1);
    const Tensors expected = fused(in, options);
    for (const int threads : {2, 4}) {
      set_num_threads(threads);
      const Tensors found = fused(in, options);
      for (size_t i = 0; i < found.size(); ++i) {
        CHECK(same_bits(found[i], expected[i]));
      }
    }
  }
  set_num_threads(before);
}

TEST_CASE("attention: memory grows with the length, not with its square") {
  const auto peak_of = [](int64_t length) {
    const Tensors in = inputs_of({1, 2, length, length, 16, 16}, kFloat32);
    const int64_t live = memory_stats().live_bytes;
    reset_peak_memory();
    fused(in, {.mask = {.is_causal = true}, .dropout = 0.1});
    return memory_stats().peak_bytes - live;
  };
  const int64_t scores = int64_t{2} * 1024 * 1024 * 4;
  CHECK(peak_of(1024) < scores / 4);
  CHECK(peak_of(2048) < 2.5 * static_cast<double>(peak_of(1024)));
}

TEST_CASE("attention: a mask that was overwritten is noticed") {
  const Variable q(drawn({1, 1, 3, 2}, 1), true);
  const auto check = [&](const AttentionMask& mask, Tensor& overwritten) {
    const Variable y = attention(q, q, q, {.mask = mask});
    overwritten.fill_(1);
    CHECK_THROWS_AS(y.backward(drawn({1, 1, 3, 2}, 2)), std::logic_error);
  };
  Tensor padding = zeros({1, 3}, kBool);
  check({.padding = padding}, padding);
  Tensor bools = zeros({3, 3}, kBool);
  check({.hidden = bools}, bools);
  Tensor floats = zeros({3, 3}, kFloat64);
  check({.added = floats}, floats);
}

TEST_CASE("attention: options that do not fit are errors") {
  const Tensor q = ones({2, 3, 4, 5});
  const auto refuses = [&](const AttentionOptions& options,
                           const std::string& message) {
    CHECK_THROWS_WITH_AS(
        attention(q, q, q, options), message.c_str(), std::invalid_argument);
  };
  refuses(
      {.mask = {.padding = zeros({2, 3}, kBool)}},
      "attention: mask.padding must be bool and have shape [2, 4], got bool "
      "[2, 3]");
  refuses(
      {.mask = {.hidden = zeros({4, 4})}},
      "attention: mask.hidden must be bool and broadcast to [2, 3, 4, 4], got "
      "float32 [4, 4]");
  refuses(
      {.mask = {.added = zeros({4, 4}, kFloat64)}},
      "attention: mask.added must be float32 and broadcast to [2, 3, 4, 4], "
      "got float64 [4, 4]");
  refuses({.dropout = -0.1}, "attention: dropout must be in [0, 1], got -0.1");
  refuses({.dropout = kNan}, "attention: dropout must be in [0, 1], got nan");
}

TEST_CASE("attention_backward: rows that are not forward's are an error") {
  const Tensor q = ones({2, 3, 4, 5});
  Tensor y(q.shape(), kFloat32);
  const Tensor rows = attention_forward(q, q, q, {}, y);
  Tensor dq(q.shape(), kFloat32);
  Tensor dk(q.shape(), kFloat32);
  Tensor dv(q.shape(), kFloat32);
  CHECK_THROWS_WITH_AS(
      attention_backward(q, q, q, q, y, rows[0], {}, dq, dk, dv),
      "attention: softmax_stats must be what attention_forward returned, "
      "float32 [2, 2, "
      "3, 4], got float32 [2, 3, 4]",
      std::invalid_argument);
  CHECK_THROWS_AS(
      attention_backward(q, q, q, q, y, Tensor(), {}, dq, dk, dv),
      std::invalid_argument);
}
