#include "autograd/matmul.h"

#include <algorithm>

#include "autograd/record.h"
#include "tensor/matmul.h"

namespace heed {
namespace {

// dy with the dimensions put back that y lost because a or b is a vector.
Variable as_matrices(Variable dy, bool a_is_vector, bool b_is_vector) {
  if (b_is_vector) {
    dy = dy.unsqueeze(-1);
  }
  return a_is_vector ? dy.unsqueeze(-2) : dy;
}

// x [..., n] as [rows, n].
Variable all_rows(const Variable& x) {
  int64_t rows = 1;
  for (int64_t d = 0; d < x.dim() - 1; ++d) {
    rows *= x.size(d);
  }
  return x.reshape({rows, x.size(-1)});
}

Tensor all_rows(const Tensor& x) { return all_rows(Variable(x)).value(); }

// Whether x and y have the same dimensions but for the last two.
bool have_one_batch(const Tensor& x, const Tensor& y) {
  return x.dim() == y.dim() && x.dim() >= 2 &&
         std::equal(x.shape().begin(), x.shape().end() - 2, y.shape().begin());
}

// da = dy b^T
Variable left_gradient(const Variable& dy, int64_t a_rank, const Variable& b) {
  const bool b_is_vector = b.dim() == 1;
  const Variable matrices = as_matrices(dy, a_rank == 1, b_is_vector);
  const Variable bt =
      b_is_vector ? b.unsqueeze(0) : b.transpose(-2, -1);  // [..., N, K]
  const Variable da = matmul(matrices, bt);                // [..., M, K]
  return a_rank == 1 ? da.squeeze(-2) : da;
}

// db = a^T dy
Variable right_gradient(const Variable& dy, const Variable& a, int64_t b_rank) {
  const bool a_is_vector = a.dim() == 1;
  Variable matrices = as_matrices(dy, a_is_vector, b_rank == 1);
  Variable left = a_is_vector ? a.unsqueeze(0) : a;
  if (b_rank <= 2 && left.dim() > 2) {
    // One product sums over the batches as well.
    left = all_rows(left);
    matrices = all_rows(matrices);
  }
  const Variable db = matmul(left.transpose(-2, -1), matrices);  // [..., K, N]
  return b_rank == 1 ? db.squeeze(-1) : db;
}

// Neither rule adds to a gradient that is smaller than the product's, having
// been broadcast, nor to a vector's.

struct LeftRule {
  int64_t a_rank;
  Saved<Variable> b;

  Variable operator()(const Variable& dy) const {
    return left_gradient(dy, a_rank, b);
  }
  bool add_to(Tensor& sum, const Variable& dy) const {
    const Tensor& right = b.get().value();
    if (right.dim() < 2 || !have_one_batch(sum, dy.value())) {
      return false;
    }
    matmul_into(sum, dy.value(), right.transpose(-2, -1), /*add=*/true);
    return true;
  }
};

struct RightRule {
  Saved<Variable> a;
  int64_t b_rank;

  Variable operator()(const Variable& dy) const {
    return right_gradient(dy, a, b_rank);
  }
  bool add_to(Tensor& sum, const Variable& dy) const {
    const Tensor& left = a.get().value();
    if (left.dim() < 2 || b_rank < 2) {
      return false;
    }
    if (b_rank == 2) {
      matmul_into(
          sum,
          all_rows(left).transpose(0, 1),
          all_rows(dy.value()),
          /*add=*/true);
      return true;
    }
    if (!have_one_batch(sum, dy.value())) {
      return false;
    }
    matmul_into(sum, left.transpose(-2, -1), dy.value(), /*add=*/true);
    return true;
  }
};

}  // namespace

Variable matmul(const Variable& a, const Variable& b) {
  return record(
      "matmul",
      matmul(a.value(), b.value()),
      {
          {a, LeftRule{a.dim(), saved(b)}},
          {b, RightRule{saved(a), b.dim()}},
      });
}

}  // namespace heed
