#include "tensor/reduce_window.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>

namespace heed {
namespace {

struct Run {
  int64_t size = 1;
  int64_t stride = 1;
};

// Dimensions first .. last - 1 walked as one, if their strides allow it.
std::optional<Run> merged(const Tensor& x, int64_t first, int64_t last) {
  Run run;
  for (int64_t d = last - 1; d >= first; --d) {
    const int64_t size = x.shape()[d];
    if (size == 1) {
      continue;
    }
    if (run.size == 1) {
      run = {size, x.strides()[d]};
    } else if (x.strides()[d] == run.stride * run.size) {
      run.size *= size;
    } else {
      return std::nullopt;
    }
  }
  return run;
}

// x seen as a window, if its strides allow that.
std::optional<ReduceWindow> window_of(
    const Tensor& x, int64_t first, int64_t last) {
  if (x.numel() == 0) {
    ReduceWindow empty;
    for (int64_t d = 0; d < x.dim(); ++d) {
      (d < first   ? empty.outer
       : d >= last ? empty.inner
                   : empty.count) *= x.shape()[d];
    }
    return empty;
  }
  const std::optional<Run> outer = merged(x, 0, first);
  const std::optional<Run> count = merged(x, first, last);
  const std::optional<Run> inner = merged(x, last, x.dim());
  if (!outer || !count || !inner) {
    return std::nullopt;
  }
  const Run& innermost = inner->size > 1 ? *inner : *count;
  if (innermost.size > 1 && innermost.stride != 1) {
    return std::nullopt;
  }
  return ReduceWindow{
      outer->size, count->size, inner->size, outer->stride, count->stride};
}

}  // namespace

ReduceSource::ReduceSource(const Tensor& x, int64_t first, int64_t last)
    : elements(x) {
  Dims run;
  for (int64_t d = first; d < last; ++d) {
    run.push_back(d);
  }
  reduced = reduced_shape(x.shape(), run, /*keepdim=*/true);
  std::optional<ReduceWindow> found = window_of(x, first, last);
  if (!found) {
    elements = x.contiguous();
    found = window_of(elements, first, last);
  }
  window = *found;
}

Dims dims_by_stride(const Tensor& x) {
  std::array<int64_t, kMaxRank> order{};
  for (int64_t d = 0; d < x.dim(); ++d) {
    order[d] = d;
  }
  // Repeated dimensions (stride 0) go outermost, so that the innermost one is
  // dense.
  const auto reach = [&x](int64_t d) {
    return x.strides()[d] == 0 ? std::numeric_limits<int64_t>::max()
                               : x.strides()[d];
  };
  std::stable_sort(
      order.begin(), order.begin() + x.dim(), [&](int64_t a, int64_t b) {
        return reach(a) > reach(b);
      });
  return Dims(std::span<const int64_t>(order.data(), x.dim()));
}

int64_t reduced_count(const Shape& shape, const Dims& dims) {
  int64_t count = 1;
  for (const int64_t d : dims) {
    count *= shape[d];
  }
  return count;
}

}  // namespace heed
