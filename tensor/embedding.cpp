#include "tensor/embedding.h"

#include <algorithm>

#include "tensor/creation.h"
#include "tensor/indexing.h"
#include "tensor/parallel.h"

namespace heed {
namespace {

// Columns that are added up together: two cache lines of float32.
constexpr int64_t kColumns = 32;

void check_range(const Tensor& ids, int64_t size) {
  const int64_t* const id = ids.data<int64_t>();
  parallel_for(ids.numel(), grain_for(1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (id[i] < 0 || id[i] >= size) {
        fail_out_of_range("embedding", "ids", id[i], size, i, ids.shape());
      }
    }
  });
}

// dweight[id[i]] += dy[i] for columns [first, last) of d.
template <typename T>
void add_columns(
    const T* dy,
    const int64_t* id,
    int64_t n,
    int64_t d,
    int64_t first,
    int64_t last,
    int64_t padding,
    T* dweight) {
  for (int64_t i = 0; i < n; ++i) {
    if (id[i] == padding) {
      continue;
    }
    const T* from = dy + i * d;
    T* to = dweight + id[i] * d;
#pragma omp simd
    for (int64_t j = first; j < last; ++j) {
      to[j] += from[j];
    }
  }
}

}  // namespace

Tensor embedding(const Tensor& weight, const Tensor& ids) {
  check_defined("embedding", weight, "weight");
  check_ids("embedding", ids);
  if (weight.dim() != 2) {
    fail("embedding", "weight must have shape [V, d], got ", weight.shape());
  }
  const Tensor places = ids.contiguous();
  check_range(places, weight.size(0));
  Dims sizes = ids.shape();
  sizes.push_back(weight.size(1));
  Tensor y(Shape(sizes), weight.dtype());
  visit_dtype(weight.dtype(), [&]<typename T>(TypeTag<T>) {
    const int64_t d = weight.size(1);
    const int64_t row = weight.stride(0);
    const int64_t column = weight.stride(1);
    const T* const from = weight.data<T>();
    const int64_t* const id = places.data<int64_t>();
    T* const to = y.mutable_data<T>();
    parallel_for(places.numel(), grain_for(d), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* source = from + id[i] * row;
        if (column == 1) {
          std::copy_n(source, d, to + i * d);
          continue;
        }
        for (int64_t j = 0; j < d; ++j) {
          to[i * d + j] = source[j * column];
        }
      }
    });
  });
  return y;
}

Tensor embedding_backward(
    const Tensor& dy,
    const Tensor& ids,
    int64_t num_embeddings,
    std::optional<int64_t> padding_idx) {
  check_defined("embedding", dy, "dy");
  if (dy.dim() == 0) {
    fail("embedding", "dy must have shape [ids..., d], got a single number");
  }
  Tensor dweight = zeros({num_embeddings, dy.size(-1)}, dy.dtype());
  embedding_backward_into(dweight, dy, ids, padding_idx);
  return dweight;
}

void embedding_backward_into(
    Tensor& dweight,
    const Tensor& dy,
    const Tensor& ids,
    std::optional<int64_t> padding_idx) {
  check_same_dtype("embedding", dy, dweight);
  check_ids("embedding", ids);
  Dims expected = ids.shape();
  expected.push_back(dweight.size(-1));
  if (!(expected == dy.shape())) {
    fail(
        "embedding",
        "dy must have shape [ids..., d], got dy ",
        dy.shape(),
        " and ids ",
        ids.shape());
  }
  if (dweight.dim() != 2 || !dweight.is_contiguous()) {
    fail(
        "embedding",
        "dweight must be dense, of shape [V, d], got ",
        dweight.shape());
  }
  const Tensor places = ids.contiguous();
  check_range(places, dweight.size(0));
  const int64_t d = dy.size(-1);
  const int64_t n = places.numel();
  const Tensor rows = dy.contiguous();
  visit_floating("embedding", dy.dtype(), [&]<typename T>(TypeTag<T>) {
    // Cut by columns: no two pieces write to one place, and ids that are all
    // equal are shared out as well as others.
    const int64_t blocks = (d + kColumns - 1) / kColumns;
    const T* const from = rows.data<T>();
    const int64_t* const id = places.data<int64_t>();
    T* const to = dweight.mutable_data<T>();
    parallel_for(
        blocks,
        grain_for(std::max<int64_t>(n, 1) * kColumns),
        [&](int64_t begin, int64_t end) {
          add_columns(
              from,
              id,
              n,
              d,
              begin * kColumns,
              std::min(end * kColumns, d),
              padding_idx.value_or(-1),
              to);
        });
  });
}

}  // namespace heed
