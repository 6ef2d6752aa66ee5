#include "autograd/matmul.h"

#include "autograd/record.h"

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

}  // namespace

Variable matmul(const Variable& a, const Variable& b) {
  return record(
      "matmul",
      matmul(a.value(), b.value()),
      {
          {a,
           [rank = a.dim(), b = saved(b)](const Variable& dy) {
             return left_gradient(dy, rank, b);
           }},
          {b,
           [a = saved(a), rank = b.dim()](const Variable& dy) {
             return right_gradient(dy, a, rank);
           }},
      });
}

}  // namespace heed
