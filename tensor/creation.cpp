#include "tensor/creation.h"

#include <algorithm>
#include <cmath>

#include "tensor/arithmetic.h"
#include "tensor/parallel.h"

namespace heed {

Tensor zeros(const Shape& shape, DType dtype) { return full(shape, 0, dtype); }

Tensor ones(const Shape& shape, DType dtype) { return full(shape, 1, dtype); }

Tensor full(const Shape& shape, Scalar value, DType dtype) {
  visit_dtype(dtype, [&]<typename T>(TypeTag<T>) { value.as<T>("full"); });
  Tensor y(shape, dtype);
  y.fill_(value);
  return y;
}

Tensor zeros_like(const Tensor& x) {
  check_defined("zeros_like", x);
  return zeros(x.shape(), x.dtype());
}

Tensor ones_like(const Tensor& x) {
  check_defined("ones_like", x);
  return ones(x.shape(), x.dtype());
}

Tensor full_like(const Tensor& x, Scalar value) {
  check_defined("full_like", x);
  return full(x.shape(), value, x.dtype());
}

namespace {

// How many of start, start + step, ... lie before stop.
int64_t count_integers(int64_t start, int64_t stop, int64_t step) {
  if (step == 0) {
    fail("arange", "step must not be 0");
  }
  if (step > 0 ? start >= stop : start <= stop) {
    return 0;
  }
  // Unsigned, as the distance between two int64 may not fit one.
  const uint64_t distance = step > 0 ? uint64_t(stop) - uint64_t(start)
                                     : uint64_t(start) - uint64_t(stop);
  const uint64_t stride = step > 0 ? uint64_t(step) : -uint64_t(step);
  const uint64_t count = (distance - 1) / stride + 1;
  if (count > uint64_t{1} << 56) {
    fail("arange", "the numbers must fit memory, got ", count);
  }
  return static_cast<int64_t>(count);
}

int64_t count_reals(double start, double stop, double step) {
  if (!std::isfinite(start) || !std::isfinite(stop) || !std::isfinite(step)) {
    fail(
        "arange",
        "start, stop and step must be finite, got ",
        start,
        ", ",
        stop,
        " and ",
        step);
  }
  if (step == 0) {
    fail("arange", "step must not be 0");
  }
  const double count = std::ceil((stop - start) / step);
  if (!(count < 0x1p56)) {
    fail("arange", "the numbers must fit memory, got ", count);
  }
  return static_cast<int64_t>(std::max(count, 0.0));
}

}  // namespace

Tensor arange(Scalar stop) { return arange(0, stop, 1); }

Tensor arange(Scalar stop, DType dtype) { return arange(0, stop, 1, dtype); }

Tensor arange(Scalar start, Scalar stop, Scalar step) {
  const bool integers =
      start.is_integer() && stop.is_integer() && step.is_integer();
  return arange(start, stop, step, integers ? kInt64 : kFloat32);
}

Tensor arange(Scalar start, Scalar stop, Scalar step, DType dtype) {
  return visit_number("arange", dtype, [&]<typename T>(TypeTag<T>) {
    using Wide = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
    const Wide first = start.as<Wide>("arange");
    const Wide last = stop.as<Wide>("arange");
    const Wide by = step.as<Wide>("arange");
    int64_t count = 0;
    if constexpr (std::is_integral_v<T>) {
      count = count_integers(first, last, by);
    } else {
      count = count_reals(first, last, by);
    }
    Tensor y({count}, dtype);
    T* const out = y.mutable_data<T>();
    parallel_for(count, grain_for(1), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        // i * by may leave int64 where the sum is back in it.
        out[i] = static_cast<T>(arithmetic::add(
            first, arithmetic::multiply(static_cast<Wide>(i), by)));
      }
    });
    return y;
  });
}

namespace {

void append_sizes(const Values& values, Dims& sizes) {
  if (values.is_list()) {
    sizes.push_back(static_cast<int64_t>(values.items().size()));
    if (!values.items().empty()) {
      append_sizes(values.items().front(), sizes);
    }
  }
}

// Calls f for each number in order, having checked that the nesting is `sizes`
// from `depth` on.
template <typename F>
void for_each_number(
    const Values& values, const Dims& sizes, int64_t depth, const F& f) {
  const bool fits =
      values.is_list()
          ? depth < sizes.size() &&
                static_cast<int64_t>(values.items().size()) == sizes[depth]
          : depth == sizes.size();
  if (!fits) {
    fail(
        "tensor",
        "rows must agree in length and depth, the first ones giving shape ",
        sizes,
        ", got ",
        values.is_list() ? "a row of " : "a number",
        values.is_list() ? std::to_string(values.items().size()) : "",
        " at depth ",
        depth);
  }
  if (!values.is_list()) {
    f(values);
  }
  for (const Values& item : values.items()) {
    for_each_number(item, sizes, depth + 1, f);
  }
}

}  // namespace

Tensor tensor(const Values& values) {
  Dims sizes;
  append_sizes(values, sizes);
  bool bools = true;
  bool integers = true;
  bool any = false;
  for_each_number(values, sizes, 0, [&](const Values& number) {
    any = true;
    bools &= number.is_bool();
    integers &= number.scalar().is_integer();
  });
  return tensor(
      values,
      any && bools      ? kBool
      : any && integers ? kInt64
                        : kFloat32);
}

Tensor tensor(const Values& values, DType dtype) {
  Dims sizes;
  append_sizes(values, sizes);
  return visit_dtype(dtype, [&]<typename T>(TypeTag<T>) {
    Tensor y(Shape(sizes), dtype);
    T* out = y.mutable_data<T>();
    for_each_number(values, sizes, 0, [&](const Values& number) {
      *out++ = number.scalar().as<T>("tensor");
    });
    return y;
  });
}

namespace {

template <typename T>
using ElementOf = std::conditional_t<std::is_same_v<T, int>, int64_t, T>;

void check_count(size_t count, const Shape& shape) {
  if (static_cast<int64_t>(count) != shape.numel()) {
    fail(
        "from_vector",
        "shape must hold as many elements as there are values, got ",
        shape,
        " for ",
        count);
  }
}

// From any iterator: vector<bool> has no buffer.
template <typename Iterator>
Tensor from_values(Iterator values, const Shape& shape) {
  using T = ElementOf<typename std::iterator_traits<Iterator>::value_type>;
  Tensor y(shape, dtype_of<T>);
  std::copy_n(values, shape.numel(), y.mutable_data<T>());
  return y;
}

}  // namespace

template <typename T>
Tensor from_vector(const std::vector<T>& values, const Shape& shape) {
  check_count(values.size(), shape);
  return from_values(values.begin(), shape);
}

template <typename T>
Tensor from_vector(const std::vector<T>& values) {
  return from_vector(values, {static_cast<int64_t>(values.size())});
}

template <typename T>
Tensor from_buffer(const T* values, const Shape& shape) {
  if (values == nullptr && shape.numel() > 0) {
    fail("from_buffer", "values must not be nullptr for shape ", shape);
  }
  return from_values(values, shape);
}

#define HEED_FROM_VALUES(T)                                         \
  template Tensor from_vector(const std::vector<T>&, const Shape&); \
  template Tensor from_vector(const std::vector<T>&);               \
  template Tensor from_buffer(const T*, const Shape&);
HEED_FROM_VALUES(float)
HEED_FROM_VALUES(double)
HEED_FROM_VALUES(int)
HEED_FROM_VALUES(int64_t)
HEED_FROM_VALUES(bool)
#undef HEED_FROM_VALUES

}  // namespace heed
