#include "tests/op_table.h"

namespace heed::op_table {

const Rows& rows() {
  static const Rows all = [] {
    Rows rows;
    for (const auto& family :
         {elementwise_rows,
          reduction_rows,
          view_rows,
          matmul_rows,
          attention_rows,
          indexing_rows,
          dropout_rows,
          normalization_rows,
          loss_rows}) {
      for (Row& row : family()) {
        rows.push_back(std::move(row));
      }
    }
    return rows;
  }();
  return all;
}

Tensor ids(const Shape& shape, int64_t limit) {
  Tensor y(shape, kInt64);
  int64_t* const data = y.mutable_data<int64_t>();
  for (int64_t i = 0; i < y.numel(); ++i) {
    data[i] = (3 * i) % limit;
  }
  return y;
}

Tensor mask(const Shape& shape) {
  Tensor y(shape, kBool);
  bool* const data = y.mutable_data<bool>();
  for (int64_t i = 0; i < y.numel(); ++i) {
    data[i] = i % 3 == 0;
  }
  return y;
}

}  // namespace heed::op_table
