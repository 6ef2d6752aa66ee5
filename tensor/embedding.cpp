#include "tensor/embedding.h"

#include <algorithm>

#include "tensor/ceil_div.h"
#include "tensor/indexing.h"
#include "tensor/parallel.h"
#include "tensor/simd.h"

namespace heed {
namespace {

// A block of dweight that one thread writes: ids that are all equal are still
// shared out by columns.
constexpr int64_t kRows = 64;
constexpr int64_t kColumns = 128;

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

// Where each id stands: id v at place[first[v]] .. place[first[v + 1] - 1], in
// rising order. Padding stands nowhere.
struct PlacesById {
  const int64_t* first;
  const int64_t* place;

  Tensor buffer;
};

// A counting sort of ids, which are in [0, size).
PlacesById places_by_id(
    const Tensor& ids, int64_t size, std::optional<int64_t> padding) {
  const int64_t n = ids.numel();
  const int64_t* const id = ids.data<int64_t>();
  const int64_t left_out = padding.value_or(-1);
  Tensor buffer({size + 2 + n}, kInt64);
  int64_t* const first = buffer.mutable_data<int64_t>();
  int64_t* const place = first + size + 2;
  std::fill_n(first, size + 2, 0);
  for (int64_t i = 0; i < n; ++i) {
    first[id[i] + 2] += id[i] != left_out;
  }
  for (int64_t v = 2; v < size + 2; ++v) {
    first[v] += first[v - 1];
  }
  // first[v + 1] moves from where v's places start to where they end.
  for (int64_t i = 0; i < n; ++i) {
    if (id[i] != left_out) {
      place[first[id[i] + 1]++] = i;
    }
  }
  return {first, place, buffer};
}

// dweight[v] (+)= dy[i], for all i where id v stands, for rows [v, end) and
// columns [left, right) of d. kAdd: to what dweight holds.
template <typename T, bool kAdd>
inline void sum_rows(
    const T* dy,
    const int64_t* first,
    const int64_t* places,
    int64_t d,
    int64_t v,
    int64_t end,
    int64_t left,
    int64_t right,
    T* dweight) {
  for (; v < end; ++v) {
    const int64_t* place = places + first[v];
    const int64_t* const last = places + first[v + 1];
    T* const to = dweight + v * d;
    if constexpr (!kAdd) {
      if (place == last) {
        std::fill(to + left, to + right, T(0));
        continue;
      }
      std::copy(dy + *place * d + left, dy + *place * d + right, to + left);
      ++place;
    }
    for (; place < last; ++place) {
      const T* const from = dy + *place * d;
#pragma omp simd
      for (int64_t j = left; j < right; ++j) {
        to[j] += from[j];
      }
    }
  }
}

void check_backward(
    const Tensor& dy, const Tensor& ids, const Tensor& dweight) {
  check_same_dtype("embedding", dy, dweight);
  check_ids("embedding", ids);
  if (dweight.dim() != 2 || !dweight.is_contiguous()) {
    fail(
        "embedding",
        "dweight must be dense, of shape [V, d], got ",
        dweight.shape());
  }
  Dims expected = ids.shape();
  expected.push_back(dweight.size(1));
  if (!(expected == dy.shape())) {
    fail(
        "embedding",
        "dy must have shape [ids..., d], got dy ",
        dy.shape(),
        " and ids ",
        ids.shape());
  }
}

// dweight (+)= the rows of dy, by id.
template <bool kAdd>
void sum_rows_into(
    Tensor& dweight,
    const Tensor& dy,
    const Tensor& ids,
    std::optional<int64_t> padding_idx) {
  check_backward(dy, ids, dweight);
  const int64_t size = dweight.size(0);
  const int64_t d = dweight.size(1);
  const Tensor ids_in_order = ids.contiguous();
  check_range(ids_in_order, size);
  const PlacesById by_id = places_by_id(ids_in_order, size, padding_idx);
  const Tensor rows = dy.contiguous();
  const int64_t row_blocks = ceil_div(size, kRows);
  const int64_t column_blocks = ceil_div(d, kColumns);
  const int64_t blocks = row_blocks * column_blocks;
  const int64_t written = kAdd ? 0 : dweight.numel();
  const int64_t cost = (written + rows.numel()) / std::max<int64_t>(blocks, 1);
  visit_floating("embedding", dy.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* const from = rows.data<T>();
    T* const to = dweight.mutable_data<T>();
    parallel_for(blocks, grain_for(cost + 1), [&](int64_t i, int64_t end) {
      for (; i < end; ++i) {
        const int64_t v = i / column_blocks * kRows;
        const int64_t left = i % column_blocks * kColumns;
        simd::call<sum_rows<T, kAdd>>(
            from,
            by_id.first,
            by_id.place,
            d,
            v,
            std::min(v + kRows, size),
            left,
            std::min(left + kColumns, d),
            to);
      }
    });
  });
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
  Tensor dweight({num_embeddings, dy.size(-1)}, dy.dtype());
  sum_rows_into<false>(dweight, dy, ids, padding_idx);
  return dweight;
}

void embedding_backward_into(
    Tensor& dweight,
    const Tensor& dy,
    const Tensor& ids,
    std::optional<int64_t> padding_idx) {
  sum_rows_into<true>(dweight, dy, ids, padding_idx);
}

}  // namespace heed
