#include "tensor/packing.h"

#include <algorithm>

#include "tensor/parallel.h"

namespace heed {
namespace {

void check(
    const char* who, const Tensor& x, const Packing& packing, bool is_packed) {
  check_defined(who, x);
  if (!packing.defined()) {
    fail(who, "the packing must be that of a batch, got an empty one");
  }
  const int64_t rows = is_packed ? 1 : packing.batch();
  const int64_t columns = is_packed ? packing.tokens() : packing.length();
  if (x.dim() < 2 || x.size(0) != rows || x.size(1) != columns) {
    fail(
        who,
        "x must have shape [",
        rows,
        ", ",
        columns,
        ", *] as the packing says, got ",
        x.shape());
  }
}

/// x's shape with other sizes of the first two dimensions.
Dims resized(const Tensor& x, int64_t rows, int64_t columns) {
  Dims sizes = x.shape();
  sizes[0] = rows;
  sizes[1] = columns;
  return sizes;
}

/// Elements of a token in x.
int64_t width_of(const Tensor& x) {
  int64_t width = 1;
  for (int64_t d = 2; d < x.dim(); ++d) {
    width *= x.size(d);
  }
  return width;
}

}  // namespace

Packing::Packing(const Tensor& padding) {
  check_defined("Packing", padding, "padding");
  if (padding.dtype() != kBool || padding.dim() != 2) {
    fail(
        "Packing",
        "padding must be bool [B, T], got ",
        padding.dtype(),
        " ",
        padding.shape());
  }
  Lists lists{padding.size(0), padding.size(1), {0}, {}};
  const Tensor dense = padding.contiguous();
  const bool* const is_padding = dense.data<bool>();
  for (int64_t b = 0; b < lists.batch; ++b) {
    for (int64_t t = 0; t < lists.length; ++t) {
      const int64_t place = b * lists.length + t;
      if (!is_padding[place]) {
        const int64_t before =
            static_cast<int64_t>(lists.places.size()) - lists.starts.back();
        lists.is_aligned &= before == t;
        lists.places.push_back(place);
      }
    }
    lists.starts.push_back(static_cast<int64_t>(lists.places.size()));
  }
  lists_ = std::make_shared<const Lists>(std::move(lists));
}

Packing::Packing(int64_t batch, int64_t length)
    : Packing(Tensor(Shape({batch, length}), kBool).zero_()) {}

Packing Packing::aligned() const {
  if (is_aligned()) {
    return *this;
  }
  Lists lists{batch(), length(), starts(), {}};
  for (int64_t b = 0; b < lists.batch; ++b) {
    for (int64_t t = 0; t < tokens(b); ++t) {
      lists.places.push_back(b * lists.length + t);
    }
  }
  Packing result;
  result.lists_ = std::make_shared<const Lists>(std::move(lists));
  return result;
}

Tensor pack(const Tensor& x, const Packing& packing) {
  check("pack", x, packing, false);
  const int64_t tokens = packing.tokens();
  if (!packing.has_padding()) {
    return x.reshape(resized(x, 1, tokens));
  }
  Tensor y(Shape(resized(x, 1, tokens)), x.dtype());
  const Tensor dense = x.contiguous();
  const int64_t width = width_of(x);
  visit_dtype(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* const from = dense.data<T>();
    T* const to = y.mutable_data<T>();
    const int64_t* const places = packing.places().data();
    parallel_for(tokens, grain_for(width), [&](int64_t n, int64_t end) {
      for (; n < end; ++n) {
        std::copy_n(from + places[n] * width, width, to + n * width);
      }
    });
  });
  return y;
}

Tensor unpack(const Tensor& x, const Packing& packing) {
  check("unpack", x, packing, true);
  const int64_t rows = packing.batch() * packing.length();
  const Dims shape = resized(x, packing.batch(), packing.length());
  if (!packing.has_padding()) {
    return x.reshape(shape);
  }
  Tensor y(Shape(shape), x.dtype());
  const Tensor dense = x.contiguous();
  const int64_t width = width_of(x);
  visit_dtype(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* const from = dense.data<T>();
    T* const to = y.mutable_data<T>();
    const std::vector<int64_t>& places = packing.places();
    parallel_for(rows, grain_for(width), [&](int64_t row, int64_t end) {
      auto next = std::lower_bound(places.begin(), places.end(), row);
      for (; row < end; ++row) {
        T* const at = to + row * width;
        if (next != places.end() && *next == row) {
          std::copy_n(from + (next - places.begin()) * width, width, at);
          ++next;
        } else {
          std::fill_n(at, width, T(0));
        }
      }
    });
  });
  return y;
}

}  // namespace heed
