#include "tensor/linear.h"

#include "tensor/gemm.h"
#include "tensor/matmul.h"

namespace heed {

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_same_dtype("linear", x, weight);
  if (weight.dim() != 2) {
    fail("linear", "weight must have shape [out, in], got ", weight.shape());
  }
  const int64_t in = weight.size(1);
  const int64_t out = weight.size(0);
  if (x.dim() == 0 || x.size(-1) != in) {
    fail("linear", "x must have shape [..., ", in, "], got ", x.shape());
  }
  if (bias.defined()) {
    check_same_dtype("linear", x, bias);
    if (!(bias.shape() == Shape{out})) {
      fail("linear", "bias must have shape [", out, "], got ", bias.shape());
    }
  }
  visit_floating("linear", x.dtype(), [](auto) {});
  Dims sizes = x.shape();
  sizes[x.dim() - 1] = out;
  Tensor y(Shape(sizes), x.dtype());
  if (x.is_contiguous() && weight.is_contiguous() && y.numel() > 0 && in > 0) {
    const Tensor dense = bias.defined() ? bias.contiguous() : Tensor();
    visit_floating("linear", x.dtype(), [&]<typename T>(TypeTag<T>) {
      gemm(Gemm<T>{
          .trans_b = true,
          .m = y.numel() / out,
          .n = out,
          .k = in,
          .a = x.data<T>(),
          .lda = in,
          .b = weight.data<T>(),
          .ldb = in,
          .c = y.mutable_data<T>(),
          .ldc = out,
          .bias = dense.defined() ? dense.data<T>() : nullptr});
    });
    return y;
  }
  if (bias.defined()) {
    y.copy_(bias);  // the product is added to it
  }
  const bool is_vector = x.dim() == 1;
  Tensor rows = is_vector ? y.unsqueeze(0) : y;
  matmul_into(
      rows,
      is_vector ? x.unsqueeze(0) : x,
      weight.transpose(0, 1),
      /*add=*/bias.defined());
  return y;
}

}  // namespace heed
