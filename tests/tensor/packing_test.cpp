#include "tensor/packing.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/elementwise.h"

using namespace heed;

namespace {

using Ids = std::vector<int64_t>;

/// Padding at the front, in between and at the end, and nothing but padding.
Tensor padding() {
  return tensor(
      {{true, false, false},
       {false, true, false},
       {false, false, true},
       {true, true, true}});
}

}  // namespace

TEST_CASE("Packing: where the tokens of each sequence are") {
  const Packing packing(padding());
  CHECK(packing.batch() == 4);
  CHECK(packing.length() == 3);
  CHECK(packing.tokens() == 6);
  CHECK(packing.starts() == Ids{0, 2, 4, 6, 6});
  CHECK(packing.places() == Ids{1, 2, 3, 5, 6, 7});
  CHECK(packing.has_padding());
  const Packing aligned = packing.aligned();
  CHECK(aligned.starts() == packing.starts());
  CHECK(aligned.places() == Ids{0, 1, 3, 4, 6, 7});
  CHECK_FALSE(packing.is_aligned());
  CHECK(aligned.is_aligned());
  CHECK(Packing(tensor({{true, true}, {false, true}})).is_aligned());
  CHECK_FALSE(Packing().defined());
  // A transposed mask is read as what it is.
  CHECK(Packing(padding().transpose(0, 1)).places() == Ids{1, 2, 4, 6, 8, 9});
}

TEST_CASE("Packing: a batch without padding, or without anything") {
  const Packing full(2, 3);
  CHECK(full.places() == Ids{0, 1, 2, 3, 4, 5});
  CHECK_FALSE(full.has_padding());
  const Tensor x = arange(6).reshape({2, 3});
  CHECK(pack(x, full).shares_storage(x));
  CHECK(unpack(pack(x, full), full).shares_storage(x));
  for (const auto& [batch, length] : {std::pair{0, 3}, {2, 0}, {0, 0}}) {
    const Packing none(batch, length);
    const Tensor y = pack(zeros({batch, length, 5}), none);
    CHECK(y.shape() == Shape({1, 0, 5}));
    CHECK(unpack(y, none).shape() == Shape({batch, length, 5}));
  }
}

TEST_CASE("pack and unpack: tokens close up and move back, zeros elsewhere") {
  const Packing packing(padding());
  const Tensor x = arange(1, 13).reshape({4, 3});
  const Tensor packed = tensor({{2, 3, 4, 6, 7, 8}});
  CHECK(equal(pack(x, packing), packed));
  CHECK(equal(
      unpack(packed, packing),
      tensor({{0, 2, 3}, {4, 0, 6}, {7, 8, 0}, {0, 0, 0}})));
  CHECK(equal(
      unpack(packed, packing.aligned()),
      tensor({{2, 3, 0}, {4, 6, 0}, {7, 8, 0}, {0, 0, 0}})));
  // Any strides, any type.
  const Tensor wide = arange(1, 25).reshape({2, 3, 4}).permute({2, 1, 0});
  const Tensor found = pack(wide, packing);  // [1, 6, 2]
  CHECK(equal(found.select(2, 0), tensor({{5, 9, 2, 10, 3, 7}})));
  CHECK(equal(found.select(2, 1), tensor({{17, 21, 14, 22, 15, 19}})));
  CHECK(unpack(found.to(kBool), packing).dtype() == kBool);
  CHECK(equal(pack(unpack(found, packing), packing), found));
}

TEST_CASE("pack and unpack: many rows, shared out among threads") {
  const Tensor ids = arange(300 * 40).reshape({300, 40});
  Tensor padding = zeros({300, 40}, kBool);
  for (int64_t b = 0; b < 300; ++b) {
    padding[b].slice(0, b % 41, 40).fill_(1);
  }
  const Packing packing(padding);
  const Tensor x = ids.unsqueeze(-1).expand({300, 40, 64});
  const Tensor y = unpack(pack(x, packing), packing);
  CHECK(equal(y, where(padding.unsqueeze(-1), 0, x.contiguous())));
}

TEST_CASE("Packing: what does not fit is an error that says what does") {
  const Packing packing(padding());
  CHECK_THROWS_WITH_AS(
      pack(zeros({4, 2, 5}), packing),
      "pack: x must have shape [4, 3, *] as the packing says, got [4, 2, 5]",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      unpack(zeros({1, 5}), packing),
      "unpack: x must have shape [1, 6, *] as the packing says, got [1, 5]",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      Packing{zeros({4, 3})},
      "Packing: padding must be bool [B, T], got float32 [4, 3]",
      std::invalid_argument);
  CHECK_THROWS_AS(Packing{zeros({4}, kBool)}, std::invalid_argument);
  CHECK_THROWS_AS(Packing{Tensor()}, std::invalid_argument);
  CHECK_THROWS_AS(pack(zeros({4}), packing), std::invalid_argument);
  CHECK_THROWS_AS(pack(Tensor(), packing), std::invalid_argument);
  CHECK_THROWS_AS(pack(zeros({4, 3}), Packing()), std::invalid_argument);
}
