#include "tensor/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "tensor/creation.h"
#include "tensor/lanes.h"
#include "tensor/parallel.h"
#include "tensor/reduction.h"

namespace heed {
namespace {

constexpr int64_t kCost = 6;  // simple operations an element
// Elements of the rows whose weight gradients are added up in one go.
constexpr int64_t kBlock = 32768;

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

// y = (x - mean) * rstd * weight + bias
template <typename T>
void forward_row(
    const T* x,
    const T* weight,
    const T* bias,
    T* y,
    int64_t n,
    double eps,
    double& mean,
    double& rstd) {
  const double count = static_cast<double>(n);
  const double center = lane_sum(n, [=](int64_t i) { return x[i]; }) / count;
  const double var = lane_sum(
                         n,
                         [=](int64_t i) {
                           const T d = static_cast<T>(x[i] - center);
                           y[i] = d;
                           return d * d;
                         }) /
                     count;
  mean = center;
  rstd = 1 / std::sqrt(var + eps);
  const T scale = static_cast<T>(rstd);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    y[i] = y[i] * scale * weight[i] + bias[i];
  }
}

// dx = rstd * (g - mean(g) - xhat * mean(g * xhat)), g = dy * weight;
// dweight += dy * xhat, dbias += dy
template <typename T>
void backward_row(
    const T* dy,
    const T* x,
    const T* weight,
    double mean,
    double rstd,
    T* dx,
    double* dweight,
    double* dbias,
    int64_t n) {
  const double count = static_cast<double>(n);
  const T scale = static_cast<T>(rstd);
  const T mean_g = static_cast<T>(
      lane_sum(n, [=](int64_t i) { return dy[i] * weight[i]; }) / count);
  const T mean_gx = static_cast<T>(
      lane_sum(
          n,
          [=](int64_t i) {
            const T xhat = static_cast<T>(x[i] - mean) * scale;
            dx[i] = xhat;
            return dy[i] * weight[i] * xhat;
          }) /
      count);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const T xhat = dx[i];
    dweight[i] += static_cast<double>(dy[i] * xhat);
    dbias[i] += static_cast<double>(dy[i]);
    dx[i] = scale * (dy[i] * weight[i] - mean_g - xhat * mean_gx);
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
    parallel_for(rows, grain_for(n * kCost), [&](int64_t row, int64_t end) {
      for (; row < end; ++row) {
        forward_row(
            from + row * n, w, b, to + row * n, n, eps, mean[row], rstd[row]);
      }
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
    // Each block of rows adds up weight gradients of its own; the blocks depend
    // on the sizes alone and are summed in order.
    const int64_t block =
        std::max<int64_t>(1, kBlock / std::max(n, int64_t{1}));
    const int64_t blocks = (rows + block - 1) / block;
    Tensor parts = zeros({2, blocks, n}, kFloat64);
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
    double* const dweight = parts.mutable_data<double>();
    double* const dbias = dweight + blocks * n;
    parallel_for(
        blocks, grain_for(block * n * kCost), [&](int64_t i, int64_t end) {
          for (; i < end; ++i) {
            const int64_t stop = std::min((i + 1) * block, rows);
            for (int64_t row = i * block; row < stop; ++row) {
              backward_row(
                  g + row * n,
                  from + row * n,
                  w,
                  m[row],
                  r[row],
                  to + row * n,
                  dweight + i * n,
                  dbias + i * n,
                  n);
            }
          }
        });
    const Tensor sums = sum(parts, 1).to(x.dtype());
    return LayerNormGradients{
        dx, sums[0].reshape(normalized), sums[1].reshape(normalized)};
  });
}

}  // namespace heed
