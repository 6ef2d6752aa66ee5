#include "nn/positional_encoding.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "autograd/elementwise.h"
#include "nn/init.h"

namespace heed {
namespace {

void check_input(
    const char* who, const Variable& x, int64_t d_model, int64_t offset) {
  if (x.dim() != 3 || x.size(2) != d_model) {
    fail(who, "x must have shape [B, T, ", d_model, "], got ", x.shape());
  }
  visit_floating(who, x.dtype(), [](auto) {});
  if (offset < 0) {
    fail(who, "offset must be >= 0, got ", offset);
  }
}

}  // namespace

Tensor sinusoidal_positions(int64_t length, int64_t d_model, DType dtype) {
  Tensor table({length, d_model}, kFloat64);
  double* const values = table.mutable_data<double>();
  for (int64_t position = 0; position < length; ++position) {
    for (int64_t j = 0; j < d_model; ++j) {
      const double exponent =
          static_cast<double>(j - j % 2) / static_cast<double>(d_model);
      const double angle =
          static_cast<double>(position) / std::pow(10000.0, exponent);
      values[position * d_model + j] =
          j % 2 == 0 ? std::sin(angle) : std::cos(angle);
    }
  }
  return table.to(dtype);
}

SinusoidalPositionalEncoding::SinusoidalPositionalEncoding(int64_t d_model)
    : d_model_(d_model) {
  if (d_model <= 0) {
    fail(
        "SinusoidalPositionalEncoding",
        "d_model must be positive, got ",
        d_model);
  }
}

Variable SinusoidalPositionalEncoding::forward(
    const Variable& x, int64_t offset) const {
  check_input("SinusoidalPositionalEncoding", x, d_model_, offset);
  const int64_t end = offset + x.size(1);
  Tensor table;
  {
    const std::lock_guard lock(mutex_);
    if (!table_.defined() || table_.size(0) < end ||
        table_.dtype() != x.dtype()) {
      const int64_t length = std::max<int64_t>(
          {64, end, table_.defined() ? 2 * table_.size(0) : 0});
      table_ = sinusoidal_positions(length, d_model_, x.dtype());
    }
    table = table_;
  }
  return x + table.slice(0, offset, end);  // [T, d_model] over the batch
}

std::string SinusoidalPositionalEncoding::describe() const {
  return "SinusoidalPositionalEncoding(d_model=" + std::to_string(d_model_) +
         ")";
}

LearnedPositionalEncoding::LearnedPositionalEncoding(
    int64_t max_length,
    int64_t d_model,
    const LearnedPositionalEncodingOptions& options)
    : max_length_(max_length), d_model_(d_model) {
  if (max_length <= 0 || d_model <= 0) {
    fail(
        "LearnedPositionalEncoding",
        "max_length and d_model must be positive, got ",
        max_length,
        " and ",
        d_model);
  }
  weight_ = add_parameter(
      "weight",
      init::normal(
          {max_length, d_model}, 0, 0.02, {options.dtype, options.generator}));
}

Variable LearnedPositionalEncoding::forward(
    const Variable& x, int64_t offset) const {
  check_input("LearnedPositionalEncoding", x, d_model_, offset);
  const int64_t end = offset + x.size(1);
  if (end > max_length_) {
    fail(
        "LearnedPositionalEncoding",
        "offset + length must be at most max_length = ",
        max_length_,
        ", got ",
        offset,
        " + ",
        x.size(1));
  }
  return x + weight_.slice(0, offset, end);  // [T, d_model] over the batch
}

std::string LearnedPositionalEncoding::describe() const {
  std::ostringstream out;
  out << "LearnedPositionalEncoding(max_length=" << max_length_
      << ", d_model=" << d_model_ << ')';
  return out.str();
}

}  // namespace heed
