#include "tensor/residual_norm.h"

#include "tensor/creation.h"
#include "tensor/dropout_mask.h"
#include "tensor/layer_norm_loop.h"

namespace heed {
namespace {

// The rows of x + dropout(branch). Words are drawn for several short rows at
// once.
template <typename T>
class ResidualRows {
 public:
  ResidualRows(
      const Tensor& x,
      const Tensor& branch,
      T* dbranch,
      const DropoutDraw& draw,
      int64_t n)
      : x_(x.data<T>()),
        branch_(branch.data<T>()),
        dbranch_(dbranch),
        drops_(draw.p > 0),
        mask_(draw.start, draw.p),
        n_(n),
        group_(std::max<int64_t>(1, kGroup / std::max<int64_t>(n, 1))) {}

  int64_t room() const { return drops_ ? dropout_room(group_ * n_) : 0; }

  [[gnu::always_inline]] const T* read(
      int64_t row, int64_t end, T* to, uint32_t* room) {
    const T* const x = x_ + row * n_;
    const T* const branch = branch_ + row * n_;
    if (!drops_) {
#pragma omp simd
      for (int64_t i = 0; i < n_; ++i) {
        to[i] = x[i] + branch[i];
      }
      return to;
    }
    if (row < drawn_) {
      words_ += n_;
    } else {
      drawn_ = std::min(row + group_, end);
      words_ = mask_.draw(row * n_, (drawn_ - row) * n_, room);
    }
    const uint32_t* const words = words_;
#pragma omp simd
    for (int64_t i = 0; i < n_; ++i) {
      to[i] = x[i] + mask_(words[i], branch[i]);
    }
    return to;
  }

  [[gnu::always_inline]] void write(int64_t row, const T* dx) {
    if (dbranch_ == nullptr) {
      return;
    }
    T* const to = dbranch_ + row * n_;
    const uint32_t* const words = words_;
#pragma omp simd
    for (int64_t i = 0; i < n_; ++i) {
      to[i] = mask_(words[i], dx[i]);
    }
  }

 private:
  static constexpr int64_t kGroup = 1024;  // elements drawn for, at least

  const T* x_;
  const T* branch_;
  T* dbranch_;  // null: nothing is dropped, or there is no backward
  bool drops_;
  DropoutMask<T> mask_;
  int64_t n_;
  int64_t group_;                    // rows drawn for at once
  int64_t drawn_ = -1;               // words are there for rows up to this one
  const uint32_t* words_ = nullptr;  // of the row read last
};

}  // namespace

Tensor residual_norm(
    const Tensor& x,
    const Tensor& branch,
    const DropoutDraw& draw,
    const Shape& normalized,
    const Tensor& weight,
    const Tensor& bias,
    double eps) {
  return residual_norm_forward(x, branch, draw, normalized, weight, bias, eps)
      .y;
}

LayerNormForward residual_norm_forward(
    const Tensor& x,
    const Tensor& branch,
    const DropoutDraw& draw,
    const Shape& normalized,
    const Tensor& weight,
    const Tensor& bias,
    double eps) {
  constexpr const char* kWho = "residual_norm";
  check_add_dropout(kWho, x, branch, draw.p);
  detail::check_layer_norm(kWho, x, normalized, weight, bias, eps);
  if (drops_all(draw.p)) {
    return layer_norm_forward(x, normalized, weight, bias, eps);
  }
  const Tensor dense_x = x.contiguous();
  const Tensor dense_branch = branch.contiguous();
  return visit_floating(kWho, x.dtype(), [&]<typename T>(TypeTag<T>) {
    const ResidualRows<T> rows(
        dense_x, dense_branch, nullptr, draw, normalized.numel());
    return detail::normalize_rows<T>(rows, x, normalized, weight, bias, eps);
  });
}

ResidualNormGradients residual_norm_backward(
    const Tensor& dy,
    const Tensor& x,
    const Tensor& branch,
    const DropoutDraw& draw,
    const Shape& normalized,
    const Tensor& weight,
    const Tensor& mean,
    const Tensor& rstd) {
  constexpr const char* kWho = "residual_norm_backward";
  check_add_dropout(kWho, x, branch, draw.p);
  detail::check_layer_norm_backward(
      kWho, dy, x, normalized, weight, mean, rstd);
  if (drops_all(draw.p)) {
    const LayerNormGradients g =
        layer_norm_backward(dy, x, normalized, weight, mean, rstd);
    return {g.dx, zeros_like(branch), g.dweight, g.dbias};
  }
  const Tensor dense_x = x.contiguous();
  const Tensor dense_branch = branch.contiguous();
  Tensor dbranch = draw.p == 0 ? Tensor() : Tensor(x.shape(), x.dtype());
  return visit_floating(kWho, x.dtype(), [&]<typename T>(TypeTag<T>) {
    const ResidualRows<T> rows(
        dense_x,
        dense_branch,
        dbranch.defined() ? dbranch.mutable_data<T>() : nullptr,
        draw,
        normalized.numel());
    const LayerNormGradients g = detail::normalize_rows_backward<T>(
        rows, dy, normalized, weight, mean, rstd);
    return ResidualNormGradients{
        g.dx, dbranch.defined() ? dbranch : g.dx, g.dweight, g.dbias};
  });
}

}  // namespace heed
