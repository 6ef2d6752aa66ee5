#include "tensor/layer_norm.h"

#include <algorithm>

#include "tensor/creation.h"
#include "tensor/layer_norm_loop.h"

namespace heed {
namespace {

void check_affine(
    std::string_view who,
    std::string_view name,
    const Tensor& parameter,
    const Tensor& x,
    const Shape& normalized) {
  if (!parameter.defined()) {
    return;
  }
  check_same_dtype(who, parameter, x);
  if (parameter.shape() != normalized) {
    fail(
        who,
        name,
        " must have shape ",
        normalized,
        ", got ",
        parameter.shape());
  }
}

bool ends_with(const Shape& shape, const Shape& end) {
  return shape.size() >= end.size() &&
         std::equal(
             end.begin(), end.end(), shape.begin() + shape.size() - end.size());
}

void check_normalized(
    std::string_view who, const Tensor& x, const Shape& normalized) {
  if (normalized.empty()) {
    fail(who, "there must be a dimension to normalise, got none");
  }
  if (!ends_with(x.shape(), normalized)) {
    fail(
        who,
        "x must end with the normalised shape ",
        normalized,
        ", got ",
        x.shape());
  }
}

template <typename T>
struct PlainRows {
  const T* x;  // [rows, n]
  int64_t n;

  int64_t room() const { return 0; }
  [[gnu::always_inline]] const T* read(
      int64_t row, int64_t /*end*/, T* /*to*/, uint32_t* /*room*/) {
    return x + row * n;
  }
  [[gnu::always_inline]] void write(int64_t /*row*/, const T* /*dx*/) {}
};

}  // namespace

void detail::check_layer_norm(
    std::string_view who,
    const Tensor& x,
    const Shape& normalized,
    const Tensor& weight,
    const Tensor& bias,
    double eps) {
  check_defined(who, x);
  check_normalized(who, x, normalized);
  check_affine(who, "weight", weight, x, normalized);
  check_affine(who, "bias", bias, x, normalized);
  if (!(eps > 0)) {
    fail(who, "eps must be positive, got ", eps);
  }
}

void detail::check_layer_norm_backward(
    std::string_view who,
    const Tensor& dy,
    const Tensor& x,
    const Shape& normalized,
    const Tensor& weight,
    const Tensor& mean,
    const Tensor& rstd) {
  check_alike(who, dy, "dy", x, "x");
  check_normalized(who, x, normalized);
  check_affine(who, "weight", weight, x, normalized);
  check_defined(who, mean, "mean");
  check_defined(who, rstd, "rstd");
  const Shape per_row({layer_norm_rows(x, normalized)});
  if (mean.shape() != per_row || rstd.shape() != per_row ||
      mean.dtype() != kFloat64 || rstd.dtype() != kFloat64) {
    fail(
        who,
        "mean and rstd must be float64 of shape [rows] = ",
        per_row,
        ", got ",
        mean.dtype(),
        " ",
        mean.shape(),
        " and ",
        rstd.dtype(),
        " ",
        rstd.shape());
  }
}

int64_t detail::layer_norm_rows(const Tensor& x, const Shape& normalized) {
  int64_t rows = 1;
  for (int64_t d = 0; d < x.dim() - normalized.size(); ++d) {
    rows *= x.shape()[d];
  }
  return rows;
}

Tensor detail::layer_norm_parameter(
    const Tensor& parameter,
    const Shape& normalized,
    Scalar value,
    DType dtype) {
  return parameter.defined() ? parameter.contiguous()
                             : full(normalized, value, dtype);
}

Tensor layer_norm(
    const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  check_defined("layer_norm", weight, "weight");
  return layer_norm(x, weight.shape(), weight, bias, eps);
}

Tensor layer_norm(
    const Tensor& x,
    const Shape& normalized,
    const Tensor& weight,
    const Tensor& bias,
    double eps) {
  return layer_norm_forward(x, normalized, weight, bias, eps).y;
}

LayerNormForward layer_norm_forward(
    const Tensor& x,
    const Shape& normalized,
    const Tensor& weight,
    const Tensor& bias,
    double eps) {
  detail::check_layer_norm("layer_norm", x, normalized, weight, bias, eps);
  return visit_floating("layer_norm", x.dtype(), [&]<typename T>(TypeTag<T>) {
    const Tensor dense = x.contiguous();
    const PlainRows<T> rows{dense.data<T>(), normalized.numel()};
    return detail::normalize_rows<T>(rows, x, normalized, weight, bias, eps);
  });
}

LayerNormGradients layer_norm_backward(
    const Tensor& dy,
    const Tensor& x,
    const Shape& normalized,
    const Tensor& weight,
    const Tensor& mean,
    const Tensor& rstd) {
  detail::check_layer_norm_backward(
      "layer_norm_backward", dy, x, normalized, weight, mean, rstd);
  return visit_floating("layer_norm", x.dtype(), [&]<typename T>(TypeTag<T>) {
    const Tensor dense = x.contiguous();
    const PlainRows<T> rows{dense.data<T>(), normalized.numel()};
    return detail::normalize_rows_backward<T>(
        rows, dy, normalized, weight, mean, rstd);
  });
}

}  // namespace heed
