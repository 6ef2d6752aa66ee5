#include "autograd/reduction.h"

#include <algorithm>
#include <limits>

#include "autograd/elementwise.h"
#include "autograd/record.h"
#include "tensor/comparison.h"
#include "tensor/reduce_loop.h"

namespace heed {
namespace {

Dims all_dims(const Variable& x) {
  Dims dims;
  for (int64_t d = 0; x.defined() && d < x.dim(); ++d) {
    dims.push_back(d);
  }
  return dims;
}

/// How a result is repeated to the shape that was reduced, whether it kept the
/// reduced dimensions or not.
struct Spread {
  Spread(const Variable& x, const Dims& dims)
      : from(x.shape()),
        kept(reduced_shape(
            from, normalize_dims("reduction", dims, from.size()), true)) {}

  Variable operator()(const Variable& y) const {
    return y.reshape(kept).expand(from);
  }
  Tensor operator()(const Tensor& y) const {
    return y.reshape(kept).expand(from);
  }

  Shape from;
  Shape kept;
};

// dx = dy / count at the elements equal to y, 0 elsewhere
Variable share_extreme(
    const Variable& dy,
    const Tensor& y,
    const Tensor& x,
    const Spread& spread) {
  const Tensor top = spread(y);
  const Tensor hit = logical_or(eq(x, top), logical_and(isnan(x), isnan(top)));
  const Tensor count = sum_to(hit.to(x.dtype()), spread.kept);
  return where(hit, spread(dy) / count, 0);
}

}  // namespace

Variable sum(const Variable& x) { return sum(x, all_dims(x)); }

Variable sum(const Variable& x, const Dims& dims, bool keepdim) {
  return record(
      "sum",
      sum(x.value(), dims, keepdim),
      {{x, [spread = Spread(x, dims)](const Variable& dy) {
          return spread(dy);  // dx = dy
        }}});
}

Variable sum_to(const Variable& x, const Shape& shape) {
  return record(
      "sum_to",
      sum_to(x.value(), shape),
      {{x, [from = x.shape()](const Variable& dy) {
          return dy.expand(from);  // dx = dy
        }}});
}

Variable mean(const Variable& x) { return mean(x, all_dims(x)); }

Variable mean(const Variable& x, const Dims& dims, bool keepdim) {
  return record(
      "mean",
      mean(x.value(), dims, keepdim),
      {{x, [spread = Spread(x, dims)](const Variable& dy) {
          // dx = dy / count
          const double count =
              static_cast<double>(spread.from.numel()) /
              static_cast<double>(std::max<int64_t>(1, dy.numel()));
          return spread(dy / count);
        }}});
}

Variable var(const Variable& x) { return var(x, all_dims(x)); }

Variable var(
    const Variable& x, const Dims& dims, int64_t correction, bool keepdim) {
  return record(
      "var",
      var(x.value(), dims, correction, keepdim),
      {{x,
        [x = saved(x), spread = Spread(x, dims), dims, correction](
            const Variable& dy) {
          // dx = dy * 2 (x - mean(x)) / max(0, count - correction)
          const int64_t count = reduced_count(
              spread.from, normalize_dims("var", dims, spread.from.size()));
          const double divisor =
              static_cast<double>(std::max<int64_t>(0, count - correction));
          return spread(dy * (2 / divisor)) *
                 (x.get() - mean(x, dims, /*keepdim=*/true));
        }}});
}

Variable logsumexp(const Variable& x) { return logsumexp(x, all_dims(x)); }

Variable logsumexp(const Variable& x, const Dims& dims, bool keepdim) {
  return record(
      "logsumexp",
      logsumexp(x.value(), dims, keepdim),
      {{x,
        [x = saved(x), spread = Spread(x, dims)](
            const Variable& dy, const Variable& y) {
          // dx = dy * exp(x - y). Where y is -inf so is x: 0 instead of y gives
          // exp(-inf) = 0.
          constexpr double kInfinity = std::numeric_limits<double>::infinity();
          const Variable finite = masked_fill(y, eq(y.value(), -kInfinity), 0);
          return spread(dy) * exp(x - spread(finite));
        }}});
}

Variable norm(const Variable& x) { return norm(x, all_dims(x)); }

Variable norm(const Variable& x, const Dims& dims, bool keepdim) {
  return record(
      "norm",
      norm(x.value(), dims, keepdim),
      {{x,
        [x = saved(x), spread = Spread(x, dims)](
            const Variable& dy, const Variable& y) {
          // dx = dy * x / y. Where y is 0 so is x.
          const Variable length = masked_fill(y, eq(y.value(), 0), 1);
          return spread(dy / length) * x;
        }}});
}

Variable max(const Variable& x) { return max(x, all_dims(x)); }

Variable max(const Variable& x, const Dims& dims, bool keepdim) {
  return record(
      "max",
      max(x.value(), dims, keepdim),
      {{x,
        [x = saved(x.value()), spread = Spread(x, dims)](
            const Variable& dy, const Variable& y) {
          return share_extreme(dy, y.value(), x, spread);
        }}});
}

Variable min(const Variable& x) { return min(x, all_dims(x)); }

Variable min(const Variable& x, const Dims& dims, bool keepdim) {
  return record(
      "min",
      min(x.value(), dims, keepdim),
      {{x,
        [x = saved(x.value()), spread = Spread(x, dims)](
            const Variable& dy, const Variable& y) {
          return share_extreme(dy, y.value(), x, spread);
        }}});
}

}  // namespace heed
