#include "tensor/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tensor/ceil_div.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tensor/philox.h"

namespace heed {
namespace {

void check_probability(double p) {
  if (!(p >= 0.0 && p <= 1.0)) {
    fail("bernoulli", "p must be in [0, 1], got ", p);
  }
}

void check_writable(std::string_view who, const Tensor& x) {
  check_defined(who, x);
  if (x.has_internal_overlap()) {
    fail(
        who,
        "x's elements must not share memory, got an expanded view of shape ",
        x.shape(),
        " and strides ",
        x.strides());
  }
}

/// Calls draw(data, numel) on the elements of x in row-major order.
template <typename T, typename Draw>
void overwrite(Tensor& x, const Draw& draw) {
  if (x.is_contiguous()) {
    draw(x.mutable_data<T>(), x.numel());
  } else {
    Tensor dense(x.shape(), x.dtype());
    draw(dense.mutable_data<T>(), dense.numel());
    x.copy_(dense);
  }
}

}  // namespace

Tensor rand(const Shape& shape, DType dtype, Generator& generator) {
  return visit_floating("rand", dtype, [&]<typename T>(TypeTag<T>) {
    Tensor y(shape, dtype);
    fill_uniform(y.mutable_data<T>(), y.numel(), T{0}, T{1}, generator);
    return y;
  });
}

Tensor randn(const Shape& shape, DType dtype, Generator& generator) {
  return visit_floating("randn", dtype, [&]<typename T>(TypeTag<T>) {
    Tensor y(shape, dtype);
    fill_normal(y.mutable_data<T>(), y.numel(), T{0}, T{1}, generator);
    return y;
  });
}

Tensor randint(
    int64_t low,
    int64_t high,
    const Shape& shape,
    DType dtype,
    Generator& generator) {
  if (low >= high) {
    fail("randint", "low must be below high, got ", low, " and ", high);
  }
  visit_number("randint", dtype, [&]<typename T>(TypeTag<T>) {
    if constexpr (std::is_floating_point_v<T>) {
      constexpr int64_t kExact = int64_t{1} << std::numeric_limits<T>::digits;
      if (low < -kExact || high > kExact) {
        fail(
            "randint",
            "low and high must be within +-",
            kExact,
            ", where ",
            dtype_name(dtype),
            " holds all integers, got ",
            low,
            " and ",
            high);
      }
    }
  });
  Tensor y(shape, kInt64);
  fill_index(y.mutable_data<int64_t>(), y.numel(), low, high, generator);
  return y.to(dtype);
}

Tensor randperm(int64_t n, Generator& generator) {
  if (n < 0) {
    fail("randperm", "n must be >= 0, got ", n);
  }
  Tensor y({n}, kInt64);
  int64_t* const out = y.mutable_data<int64_t>();
  std::iota(out, out + n, int64_t{0});
  const GeneratorState start = generator.reserve(2 * n);
  for (int64_t i = n - 1; i > 0; --i) {
    const auto index = static_cast<uint64_t>(i);
    std::swap(out[i], out[uniform_index(start, index, index + 1)]);
  }
  return y;
}

Tensor bernoulli(
    double p, const Shape& shape, DType dtype, Generator& generator) {
  check_probability(p);
  Tensor y(shape, kBool);
  fill_bernoulli(y.mutable_data<bool>(), y.numel(), p, generator);
  return y.to(dtype);
}

Tensor bernoulli(const Tensor& p, Generator& generator) {
  check_defined("bernoulli", p, "p");
  return visit_floating("bernoulli", p.dtype(), [&]<typename T>(TypeTag<T>) {
    const Tensor dense = p.contiguous();
    const T* const in = dense.data<T>();
    const int64_t n = dense.numel();
    std::for_each_n(in, n, check_probability);

    Tensor y(p.shape(), p.dtype());
    T* const out = y.mutable_data<T>();
    const GeneratorState start = generator.reserve(n);
    const int64_t batches = ceil_div(n, kRandomWords);
    parallel_for(batches, grain_for(1000), [&](int64_t begin, int64_t end) {
      uint32_t words[kRandomWords];
      for (int64_t batch = begin; batch < end; ++batch) {
        random_words(start, batch, words);
        const int64_t first = batch * kRandomWords;
        const int64_t count = std::min(kRandomWords, n - first);
        for (int64_t i = 0; i < count; ++i) {
          const bool happens =
              words[i] < probability_threshold(double{in[first + i]});
          out[first + i] = happens ? T{1} : T{0};
        }
      }
    });
    return y;
  });
}

Tensor& uniform_(Tensor& x, double low, double high, Generator& generator) {
  check_writable("uniform_", x);
  visit_floating("uniform_", x.dtype(), [&]<typename T>(TypeTag<T>) {
    const T from = static_cast<T>(low);
    const T to = static_cast<T>(high);
    if (!(from < to) || !std::isfinite(to - from)) {
      fail(
          "uniform_",
          "low must be below high, both and their difference finite in ",
          dtype_name(x.dtype()),
          ", got ",
          low,
          " and ",
          high);
    }
    overwrite<T>(x, [&](T* out, int64_t n) {
      fill_uniform(out, n, from, to, generator);
    });
  });
  return x;
}

Tensor& normal_(Tensor& x, double mean, double std, Generator& generator) {
  check_writable("normal_", x);
  visit_floating("normal_", x.dtype(), [&]<typename T>(TypeTag<T>) {
    const T center = static_cast<T>(mean);
    const T deviation = static_cast<T>(std);
    if (!std::isfinite(center) || !std::isfinite(deviation) || deviation < 0) {
      fail(
          "normal_",
          "mean must be finite, std finite and >= 0, got ",
          mean,
          " and ",
          std);
    }
    overwrite<T>(x, [&](T* out, int64_t n) {
      fill_normal(out, n, center, deviation, generator);
    });
  });
  return x;
}

}  // namespace heed
