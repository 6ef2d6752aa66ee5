#include "tensor/matmul.h"

#include <algorithm>

#include "tensor/gemm.h"
#include "tensor/strided_loop.h"

namespace heed {
namespace {

/// How BLAS reads a matrix: row-major behind a leading dimension, or the
/// transpose of that.
struct Layout {
  bool fits = false;
  bool transposed = false;
  int64_t leading = 1;
};

// Of the last two dimensions.
Layout layout_of(const Tensor& x) {
  const int64_t last = x.dim() - 1;
  const int64_t rows = x.shape()[last - 1];
  const int64_t cols = x.shape()[last];
  const int64_t row_stride = x.strides()[last - 1];
  const int64_t col_stride = x.strides()[last];
  // Nobody follows the stride of a dimension of size 1.
  if ((cols <= 1 || col_stride == 1) &&
      (rows <= 1 || row_stride >= std::max<int64_t>(cols, 1))) {
    return {true, false, rows <= 1 ? std::max<int64_t>(cols, 1) : row_stride};
  }
  if ((rows <= 1 || row_stride == 1) &&
      (cols <= 1 || col_stride >= std::max<int64_t>(rows, 1))) {
    return {true, true, cols <= 1 ? std::max<int64_t>(rows, 1) : col_stride};
  }
  return {};
}

// x [..., r, c] with batch dimensions that only repeat cut to one index, and
// copied if BLAS cannot read its matrices.
Tensor readable(Tensor x) {
  for (int64_t d = 0; d < x.dim() - 2; ++d) {
    if (x.strides()[d] == 0 && x.shape()[d] > 1) {
      x = x.slice(d, 0, 1);
    }
  }
  return layout_of(x).fits ? x : x.contiguous();
}

bool is_one_matrix(const Tensor& x) {
  return std::all_of(x.shape().begin(), x.shape().end() - 2, [](int64_t size) {
    return size == 1;
  });
}

// Whether the rows of all matrices of x [..., r, c] are equally far apart.
bool rows_are_regular(const Tensor& x) {
  int64_t next = -1;  // where the next dimension outwards should step
  for (int64_t d = x.dim() - 2; d >= 0; --d) {
    if (x.shape()[d] == 1) {
      continue;
    }
    if (next >= 0 && x.strides()[d] != next) {
      return false;
    }
    next = x.strides()[d] * x.shape()[d];
  }
  return true;
}

// x [..., r, c] as [rows, c].
Tensor all_rows(const Tensor& x) {
  int64_t rows = 1;
  for (int64_t d = 0; d < x.dim() - 1; ++d) {
    rows *= x.shape()[d];
  }
  return x.reshape({rows, x.size(-1)});
}

Shape batch_of(const Shape& shape) {
  Dims batch;
  for (int64_t d = 0; d < shape.size() - 2; ++d) {
    batch.push_back(shape[d]);
  }
  return Shape(batch);
}

// The strides of x's batch dimensions under `batch`, 0 where x repeats.
Dims batch_strides(const Tensor& x, const Shape& batch) {
  const int64_t lead = batch.size() - (x.dim() - 2);
  Dims strides;
  for (int64_t d = 0; d < batch.size(); ++d) {
    const bool repeats = d < lead || x.shape()[d - lead] == 1;
    strides.push_back(repeats ? 0 : x.strides()[d - lead]);
  }
  return strides;
}

// The product of the first matrices of a and b into y's.
template <typename T>
Gemm<T> first_product(Tensor& y, const Tensor& a, const Tensor& b, bool add) {
  const Layout la = layout_of(a);
  const Layout lb = layout_of(b);
  const int64_t n = y.shape().back();
  return {
      .trans_a = la.transposed,
      .trans_b = lb.transposed,
      .m = y.shape()[y.dim() - 2],
      .n = n,
      .k = a.shape().back(),
      .a = a.data<T>(),
      .lda = la.leading,
      .b = b.data<T>(),
      .ldb = lb.leading,
      .beta = T(add),
      .c = y.mutable_data<T>(),
      .ldc = n};
}

template <typename T>
void multiply(Tensor& y, const Tensor& a, const Tensor& b, bool add) {
  const Gemm<T> first = first_product<T>(y, a, b, add);
  const auto products = [&](const auto& offset, int64_t count, auto& stride) {
    Gemm<T> product = first;
    product.a += offset[0];
    product.b += offset[1];
    product.c += offset[2];
    gemm(product, {count, stride[0], stride[1], stride[2]});
  };
  const Shape batch = batch_of(y.shape());
  const StridedLoop<3> loop(
      batch,
      {batch_strides(a, batch),
       batch_strides(b, batch),
       batch_strides(y, batch)});
  // gemm shares one run out among threads best by itself.
  constexpr int64_t kFlopsPerOperation = 16;
  const double cost = loop.is_one_run() ? 1
                                        : 2.0 * first.m * first.n * first.k /
                                              kFlopsPerOperation;
  loop.run(static_cast<int64_t>(std::min(cost, 1e9)), products);
}

// Whether broadcast_shapes(a, b) exists.
bool broadcast(const Shape& a, const Shape& b) {
  for (int64_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const int64_t m = a[a.size() - i];
    const int64_t n = b[b.size() - i];
    if (m != n && m != 1 && n != 1) {
      return false;
    }
  }
  return true;
}

}  // namespace

void matmul_into(Tensor& y, const Tensor& a, const Tensor& b, bool add) {
  check_same_dtype("matmul", a, b);
  check_same_dtype("matmul", y, a);
  const bool are_matrices = a.dim() == 2 && b.dim() == 2 && y.dim() == 2;
  const bool fits =
      a.dim() >= 2 && b.dim() >= 2 && y.dim() >= 2 && y.is_contiguous() &&
      a.size(-1) == b.size(-2) && y.size(-2) == a.size(-2) &&
      y.size(-1) == b.size(-1) &&
      (are_matrices ||
       (is_broadcastable_to(batch_of(a.shape()), batch_of(y.shape())) &&
        is_broadcastable_to(batch_of(b.shape()), batch_of(y.shape()))));
  if (!fits) {
    fail(
        "matmul",
        "y must be dense and of the product's shape, got y ",
        y.shape(),
        ", a ",
        a.shape(),
        " and b ",
        b.shape());
  }
  visit_floating("matmul", a.dtype(), [&]<typename T>(TypeTag<T>) {
    if (y.numel() == 0) {
      return;
    }
    if (a.size(-1) == 0) {
      if (!add) {
        y.zero_();
      }
      return;
    }
    if (are_matrices && layout_of(a).fits && layout_of(b).fits) {
      gemm(first_product<T>(y, a, b, add));
      return;
    }
    const Tensor left = readable(a);
    const Tensor right = readable(b);
    if (is_one_matrix(right) && rows_are_regular(left) &&
        left.numel() / left.size(-1) == y.numel() / y.size(-1)) {
      Tensor rows = all_rows(y);
      multiply<T>(rows, all_rows(left), all_rows(right), add);
    } else {
      multiply<T>(y, left, right, add);
    }
  });
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  check_same_dtype("matmul", a, b);
  visit_floating("matmul", a.dtype(), [](auto) {});
  if (a.dim() == 0 || b.dim() == 0) {
    fail(
        "matmul",
        "a and b must have at least one dimension, got a ",
        a.shape(),
        " and b ",
        b.shape());
  }
  if (a.dim() == 2 && b.dim() == 2 && a.shape()[1] == b.shape()[0]) {
    Tensor y({a.shape()[0], b.shape()[1]}, a.dtype());
    matmul_into(y, a, b);
    return y;
  }
  const Tensor left = a.dim() == 1 ? a.unsqueeze(0) : a;
  const Tensor right = b.dim() == 1 ? b.unsqueeze(1) : b;
  if (left.size(-1) != right.size(-2)) {
    fail(
        "matmul",
        "inner dimensions must agree, got a ",
        a.shape(),
        " and b ",
        b.shape());
  }
  const Shape left_batch = batch_of(left.shape());
  const Shape right_batch = batch_of(right.shape());
  if (!broadcast(left_batch, right_batch)) {
    fail(
        "matmul",
        "batches must broadcast, got a ",
        a.shape(),
        " and b ",
        b.shape());
  }
  Dims sizes = broadcast_shapes("matmul", left_batch, right_batch);
  sizes.push_back(left.size(-2));
  sizes.push_back(right.size(-1));
  Tensor y(Shape(sizes), a.dtype());
  matmul_into(y, left, right);
  if (b.dim() == 1) {
    y = y.squeeze(-1);
  }
  return a.dim() == 1 ? y.squeeze(b.dim() == 1 ? -1 : -2) : y;
}

}  // namespace heed
