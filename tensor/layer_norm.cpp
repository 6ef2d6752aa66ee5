#include "tensor/layer_norm.h"

#include <algorithm>

#include "tensor/creation.h"
#include "tensor/layer_norm_row.h"
#include "tensor/parallel.h"
#include "tensor/reduction.h"
#include "tensor/simd.h"

namespace heed {
namespace {

constexpr int64_t kCost = 2;  // simple operations an element
// Rows whose weight gradients are added up in the elements' own type; the sums
// of all blocks are then added up in float64.
constexpr int64_t kBlockRows = 32;

void check_affine(
    std::string_view name,
    const Tensor& parameter,
    const Tensor& x,
    const Shape& normalized) {
  if (!parameter.defined()) {
    return;
  }
  check_same_dtype("layer_norm", parameter, x);
  if (parameter.shape() != normalized) {
    fail(
        "layer_norm",
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

void check_layer_norm(
    const Tensor& x,
    const Shape& normalized,
    const Tensor& weight,
    const Tensor& bias,
    double eps) {
  check_defined("layer_norm", x);
  if (normalized.empty()) {
    fail("layer_norm", "there must be a dimension to normalise, got none");
  }
  if (!ends_with(x.shape(), normalized)) {
    fail(
        "layer_norm",
        "x must end with the normalised shape ",
        normalized,
        ", got ",
        x.shape());
  }
  check_affine("weight", weight, x, normalized);
  check_affine("bias", bias, x, normalized);
  if (!(eps > 0)) {
    fail("layer_norm", "eps must be positive, got ", eps);
  }
}

int64_t count_rows(const Tensor& x, const Shape& normalized) {
  int64_t rows = 1;
  for (int64_t d = 0; d < x.dim() - normalized.size(); ++d) {
    rows *= x.shape()[d];
  }
  return rows;
}

Tensor dense_or(const Tensor& x, const Shape& shape, Scalar value, DType type) {
  return x.defined() ? x.contiguous() : full(shape, value, type);
}

template <typename T>
inline void forward_rows(
    const T* x,
    const T* weight,
    const T* bias,
    int64_t n,
    double eps,
    int64_t begin,
    int64_t end,
    T* y,
    double* mean,
    double* rstd) {
  for (int64_t row = begin; row < end; ++row) {
    const T* const from = x + row * n;
    const RowMoments moments = row_moments(from, n, eps);
    layer_norm_row(from, weight, bias, moments, y + row * n, n);
    mean[row] = moments.mean;
    rstd[row] = moments.rstd;
  }
}

// Rows begin .. end - 1 of dx; their gradients of weight and bias to dweight
// and dbias [n].
template <typename T>
inline void backward_rows(
    const T* dy,
    const T* x,
    const T* weight,
    const double* mean,
    const double* rstd,
    int64_t n,
    int64_t begin,
    int64_t end,
    T* dx,
    T* dweight,
    T* dbias) {
  std::fill_n(dweight, n, T(0));
  std::fill_n(dbias, n, T(0));
  for (int64_t row = begin; row < end; ++row) {
    layer_norm_backward_row(
        dy + row * n,
        x + row * n,
        weight,
        {mean[row], rstd[row]},
        dx + row * n,
        dweight,
        dbias,
        n);
  }
}

}  // namespace

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
  check_layer_norm(x, normalized, weight, bias, eps);
  return visit_floating("layer_norm", x.dtype(), [&]<typename T>(TypeTag<T>) {
    const int64_t n = normalized.numel();
    const int64_t rows = count_rows(x, normalized);
    const Tensor dense = x.contiguous();
    const Tensor scale = dense_or(weight, normalized, 1, x.dtype());
    const Tensor shift = dense_or(bias, normalized, 0, x.dtype());
    LayerNormForward result{
        Tensor(x.shape(), x.dtype()),
        Tensor({rows}, kFloat64),
        Tensor({rows}, kFloat64)};
    const T* const from = dense.data<T>();
    const T* const w = scale.data<T>();
    const T* const b = shift.data<T>();
    T* const to = result.y.mutable_data<T>();
    double* const mean = result.mean.mutable_data<double>();
    double* const rstd = result.rstd.mutable_data<double>();
    parallel_for(rows, grain_for(n * kCost), [&](int64_t begin, int64_t end) {
      simd::call<forward_rows<T>>(
          from, w, b, n, eps, begin, end, to, mean, rstd);
    });
    return result;
  });
}

LayerNormGradients layer_norm_backward(
    const Tensor& dy,
    const Tensor& x,
    const Shape& normalized,
    const Tensor& weight,
    const Tensor& mean,
    const Tensor& rstd) {
  constexpr const char* kWho = "layer_norm_backward";
  check_same_dtype(kWho, dy, x);
  check_defined(kWho, mean, "mean");
  check_defined(kWho, rstd, "rstd");
  if (dy.shape() != x.shape()) {
    fail(
        kWho, "dy must have the shape of x, ", x.shape(), ", got ", dy.shape());
  }
  const Shape per_row({count_rows(x, normalized)});
  if (mean.shape() != per_row || rstd.shape() != per_row) {
    fail(
        kWho,
        "mean and rstd must have shape [rows] = ",
        per_row,
        ", got ",
        mean.shape(),
        " and ",
        rstd.shape());
  }
  return visit_floating("layer_norm", x.dtype(), [&]<typename T>(TypeTag<T>) {
    const int64_t n = normalized.numel();
    const int64_t rows = count_rows(x, normalized);
    const int64_t blocks = (rows + kBlockRows - 1) / kBlockRows;
    Tensor parts({2, blocks, n}, x.dtype());
    Tensor dx(x.shape(), x.dtype());
    const Tensor dense_dy = dy.contiguous();
    const Tensor dense_x = x.contiguous();
    const Tensor scale = dense_or(weight, normalized, 1, x.dtype());
    const T* const g = dense_dy.data<T>();
    const T* const from = dense_x.data<T>();
    const T* const w = scale.data<T>();
    const double* const m = mean.data<double>();
    const double* const r = rstd.data<double>();
    T* const to = dx.mutable_data<T>();
    T* const dweight = parts.mutable_data<T>();
    T* const dbias = dweight + blocks * n;
    parallel_for(
        blocks, grain_for(kBlockRows * n * kCost), [&](int64_t i, int64_t end) {
          for (; i < end; ++i) {
            simd::call<backward_rows<T>>(
                g,
                from,
                w,
                m,
                r,
                n,
                i * kBlockRows,
                std::min((i + 1) * kBlockRows, rows),
                to,
                dweight + i * n,
                dbias + i * n);
          }
        });
    const Tensor sums = sum(parts, 1);
    return LayerNormGradients{
        dx, sums[0].reshape(normalized), sums[1].reshape(normalized)};
  });
}

}  // namespace heed
