#include "nn/init.h"

#include <cmath>
#include <string_view>

#include "tensor/creation.h"
#include "tensor/random.h"

namespace heed::init {
namespace {

struct Fans {
  double in, out;
};

Fans fans_of(std::string_view who, const Shape& shape) {
  if (shape.size() < 2 || shape.numel() == 0) {
    fail(who, "a weight must have shape [fan_out, fan_in, ...], got ", shape);
  }
  const double inner =
      static_cast<double>(shape.numel()) / static_cast<double>(shape[0]);
  const double each = inner / static_cast<double>(shape[1]);
  return {inner, static_cast<double>(shape[0]) * each};
}

double gain_of(Nonlinearity nonlinearity) {
  switch (nonlinearity) {
    case Nonlinearity::linear:
      return 1;
    case Nonlinearity::relu:
      return std::sqrt(2.0);
    case Nonlinearity::tanh:
      return 5.0 / 3.0;
  }
  return 1;
}

}  // namespace

Tensor uniform(
    const Shape& shape, double low, double high, const InitOptions& options) {
  if (!(low <= high)) {
    fail("uniform", "low must be <= high, got ", low, " and ", high);
  }
  if (low == high) {
    return full(shape, low, options.dtype);
  }
  Tensor x(shape, options.dtype);
  return uniform_(x, low, high, options.generator);
}

Tensor normal(
    const Shape& shape, double mean, double std, const InitOptions& options) {
  if (!(std >= 0)) {
    fail("normal", "std must be >= 0, got ", std);
  }
  Tensor x(shape, options.dtype);
  return normal_(x, mean, std, options.generator);
}

Tensor constant(const Shape& shape, double value, const InitOptions& options) {
  return full(shape, value, options.dtype);
}

Tensor xavier_uniform(
    const Shape& shape, double gain, const InitOptions& options) {
  const Fans fans = fans_of("xavier_uniform", shape);
  const double bound = gain * std::sqrt(6 / (fans.in + fans.out));
  return uniform(shape, -bound, bound, options);
}

Tensor xavier_normal(
    const Shape& shape, double gain, const InitOptions& options) {
  const Fans fans = fans_of("xavier_normal", shape);
  const double std = gain * std::sqrt(2 / (fans.in + fans.out));
  return normal(shape, 0, std, options);
}

Tensor kaiming_uniform(
    const Shape& shape, Nonlinearity nonlinearity, const InitOptions& options) {
  const Fans fans = fans_of("kaiming_uniform", shape);
  const double bound = gain_of(nonlinearity) * std::sqrt(3 / fans.in);
  return uniform(shape, -bound, bound, options);
}

Tensor kaiming_normal(
    const Shape& shape, Nonlinearity nonlinearity, const InitOptions& options) {
  const Fans fans = fans_of("kaiming_normal", shape);
  return normal(shape, 0, gain_of(nonlinearity) / std::sqrt(fans.in), options);
}

}  // namespace heed::init
