#pragma once

#include <algorithm>
#include <memory>

#include "tensor/ceil_div.h"
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

/// Throws std::invalid_argument in the name of `who` unless these are arguments
/// of layer_norm_backward.
void check_layer_norm_backward(
    std::string_view who,
    const Tensor& dy,
    const Tensor& x,
    const Shape& normalized,
    const Tensor& weight,
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

/// What normalising rows of n numbers reads, besides them, and writes.
template <typename T>
struct NormForward {
  int64_t n;
  const T* weight;  // [n]
  const T* bias;    // [n]
  double eps;
  T* y;          // [rows, n]
  double* mean;  // [rows]
  double* rstd;  // [rows]
};

template <typename T, typename Rows>
inline void norm_rows(
    Rows rows,
    uint32_t* room,
    NormForward<T> norm,
    int64_t begin,
    int64_t end) {
  const int64_t n = norm.n;
  for (int64_t row = begin; row < end; ++row) {
    T* const y = norm.y + row * n;
    const T* const x = rows.read(row, end, y, room);
    const RowMoments moments = row_moments(x, n, norm.eps);
    layer_norm_row(x, norm.weight, norm.bias, moments, y, n);
    norm.mean[row] = moments.mean;
    norm.rstd[row] = moments.rstd;
  }
}

/// What backward of such rows reads and writes.
template <typename T>
struct NormBackward {
  int64_t n;
  int64_t rows;
  const T* dy;         // [rows, n]
  const T* weight;     // [n]
  const double* mean;  // [rows]
  const double* rstd;  // [rows]
  T* dx;               // [rows, n]
  T* dweight;          // [blocks, n]
  T* dbias;            // [blocks, n]
};

/// The rows of one block: their dx, and the sums over them in dweight and
/// dbias.
template <typename T, typename Rows>
inline void norm_block_backward(
    Rows rows, uint32_t* room, NormBackward<T> norm, int64_t block) {
  const int64_t n = norm.n;
  T* const dweight = norm.dweight + block * n;
  T* const dbias = norm.dbias + block * n;
  std::fill_n(dweight, n, T(0));
  std::fill_n(dbias, n, T(0));
  const int64_t end = std::min((block + 1) * kNormBlock, norm.rows);
  for (int64_t row = block * kNormBlock; row < end; ++row) {
    T* const dx = norm.dx + row * n;
    const T* const x = rows.read(row, end, dx, room);
    layer_norm_backward_row(
        norm.dy + row * n,
        x,
        norm.weight,
        {norm.mean[row], norm.rstd[row]},
        dx,
        dweight,
        dbias,
        n);
    rows.write(row, dx);
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
  const NormForward<T> norm{
      .n = n,
      .weight = scale.data<T>(),
      .bias = shift.data<T>(),
      .eps = eps,
      .y = result.y.mutable_data<T>(),
      .mean = result.mean.mutable_data<double>(),
      .rstd = result.rstd.mutable_data<double>()};
  parallel_for(
      count, grain_for(n * kNormCost), [&](int64_t begin, int64_t end) {
        const std::unique_ptr<uint32_t[]> room(new uint32_t[rows.room()]);
        simd::call<norm_rows<T, Rows>>(rows, room.get(), norm, begin, end);
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
  const int64_t blocks = ceil_div(count, kNormBlock);
  Tensor parts({2, blocks, n}, dy.dtype());
  Tensor dx(dy.shape(), dy.dtype());
  const Tensor dense_dy = dy.contiguous();
  const Tensor scale = layer_norm_parameter(weight, normalized, 1, dy.dtype());
  const Tensor dense_mean = mean.contiguous();
  const Tensor dense_rstd = rstd.contiguous();
  T* const dweight = parts.mutable_data<T>();
  const NormBackward<T> norm{
      .n = n,
      .rows = count,
      .dy = dense_dy.data<T>(),
      .weight = scale.data<T>(),
      .mean = dense_mean.data<double>(),
      .rstd = dense_rstd.data<double>(),
      .dx = dx.mutable_data<T>(),
      .dweight = dweight,
      .dbias = dweight + blocks * n};
  parallel_for(
      blocks,
      grain_for(kNormBlock * n * kNormCost),
      [&](int64_t i, int64_t end) {
        const std::unique_ptr<uint32_t[]> room(new uint32_t[rows.room()]);
        for (; i < end; ++i) {
          simd::call<norm_block_backward<T, Rows>>(rows, room.get(), norm, i);
        }
      });
  const Tensor sums = sum(parts, 1);
  return {dx, sums[0].reshape(normalized), sums[1].reshape(normalized)};
}

}  // namespace heed::detail
