#pragma once

#include <algorithm>
#include <memory>

#include "tensor/layer_norm.h"
#include "tensor/layer_norm_row.h"
#include "tensor/parallel.h"
#include "tensor/reduction.h"
#include "tensor/simd.h"

namespace heed::detail {

// Layer normalisation of all rows. Where rows come from is said by a Rows, of
// which every piece of the work gets a copy:
//
//     int64_t room() const;           words of scratch that a piece needs
//     const T* read(row, end, to, room);
//                                     row `row`, which it may build at `to`;
//                                     the piece goes on to row end - 1
//     void write(row, dx);            takes the gradient of the row read last

/// Throws std::invalid_argument in the name of `who` unless these are arguments
/// of layer_norm.
void check_layer_norm(
    std::string_view who,
    const Tensor& x,
    const Shape& normalized,
    const Tensor& weight,
    const Tensor& bias,
    double eps);

/// Throws std::invalid_argument in the name of `who` unless dy has the shape of
/// x, and mean and rstd have one number a row.
void check_layer_norm_backward(
    std::string_view who,
    const Tensor& dy,
    const Tensor& x,
    const Shape& normalized,
    const Tensor& mean,
    const Tensor& rstd);

/// The product of the dimensions of x that are not normalised.
int64_t layer_norm_rows(const Tensor& x, const Shape& normalized);

/// A weight or bias, dense; all `value` when undefined.
Tensor layer_norm_parameter(
    const Tensor& parameter,
    const Shape& normalized,
    Scalar value,
    DType dtype);

inline constexpr int64_t kNormCost = 2;  // simple operations an element
/// Rows whose weight gradients are added up in the elements' own type; the sums
/// of all blocks are then added up in float64.
inline constexpr int64_t kNormBlock = 32;

/// What a row is normalised to and by.
template <typename T>
struct NormTargets {
  T* y;  // [rows, n]
  double* mean;
  double* rstd;
};

template <typename T, typename Rows>
inline void norm_rows(
    Rows rows,
    uint32_t* room,
    const T* weight,
    const T* bias,
    int64_t n,
    double eps,
    int64_t begin,
    int64_t end,
    NormTargets<T> to) {
  for (int64_t row = begin; row < end; ++row) {
    T* const y = to.y + row * n;
    const T* const x = rows.read(row, end, y, room);
    const RowMoments moments = row_moments(x, n, eps);
    layer_norm_row(x, weight, bias, moments, y, n);
    to.mean[row] = moments.mean;
    to.rstd[row] = moments.rstd;
  }
}

/// Rows begin .. end - 1 of dx; their gradients of weight and bias to dweight
/// and dbias [n].
template <typename T, typename Rows>
inline void norm_rows_backward(
    Rows rows,
    uint32_t* room,
    const T* dy,
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
    T* const to = dx + row * n;
    const T* const x = rows.read(row, end, to, room);
    layer_norm_backward_row(
        dy + row * n, x, weight, {mean[row], rstd[row]}, to, dweight, dbias, n);
    rows.write(row, to);
  }
}

/// layer_norm of the rows that would be those of x.
template <typename T, typename Rows>
LayerNormForward normalize_rows(
    const Rows& rows,
    const Tensor& x,
    const Shape& normalized,
    const Tensor& weight,
    const Tensor& bias,
    double eps) {
  const int64_t n = normalized.numel();
  const int64_t count = layer_norm_rows(x, normalized);
  const Tensor scale = layer_norm_parameter(weight, normalized, 1, x.dtype());
  const Tensor shift = layer_norm_parameter(bias, normalized, 0, x.dtype());
  LayerNormForward result{
      Tensor(x.shape(), x.dtype()),
      Tensor({count}, kFloat64),
      Tensor({count}, kFloat64)};
  const T* const w = scale.data<T>();
  const T* const b = shift.data<T>();
  const NormTargets<T> to{
      result.y.mutable_data<T>(),
      result.mean.mutable_data<double>(),
      result.rstd.mutable_data<double>()};
  heed::parallel_for(
      count, grain_for(n * kNormCost), [&](int64_t begin, int64_t end) {
        const std::unique_ptr<uint32_t[]> room(new uint32_t[rows.room()]);
        simd::call<norm_rows<T, Rows>>(
            rows, room.get(), w, b, n, eps, begin, end, to);
      });
  return result;
}

/// Its backward.
template <typename T, typename Rows>
LayerNormGradients normalize_rows_backward(
    const Rows& rows,
    const Tensor& dy,
    const Shape& normalized,
    const Tensor& weight,
    const Tensor& mean,
    const Tensor& rstd) {
  const int64_t n = normalized.numel();
  const int64_t count = layer_norm_rows(dy, normalized);
  const int64_t blocks = (count + kNormBlock - 1) / kNormBlock;
  Tensor parts({2, blocks, n}, dy.dtype());
  Tensor dx(dy.shape(), dy.dtype());
  const Tensor dense_dy = dy.contiguous();
  const Tensor scale = layer_norm_parameter(weight, normalized, 1, dy.dtype());
  const T* const g = dense_dy.data<T>();
  const T* const w = scale.data<T>();
  const double* const m = mean.data<double>();
  const double* const r = rstd.data<double>();
  T* const to = dx.mutable_data<T>();
  T* const dweight = parts.mutable_data<T>();
  T* const dbias = dweight + blocks * n;
  heed::parallel_for(
      blocks,
      grain_for(kNormBlock * n * kNormCost),
      [&](int64_t i, int64_t end) {
        const std::unique_ptr<uint32_t[]> room(new uint32_t[rows.room()]);
        for (; i < end; ++i) {
          simd::call<norm_rows_backward<T, Rows>>(
              rows,
              room.get(),
              g,
              w,
              m,
              r,
              n,
              i * kNormBlock,
              std::min((i + 1) * kNormBlock, count),
              to,
              dweight + i * n,
              dbias + i * n);
        }
      });
  const Tensor sums = sum(parts, 1);
  return {dx, sums[0].reshape(normalized), sums[1].reshape(normalized)};
}

}  // namespace heed::detail
