#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "tensor/ceil_div.h"
#include "tensor/dtype.h"
#include "tensor/parallel.h"

namespace heed {

namespace detail {

template <typename Row>
int64_t numel_of(const std::vector<Row>& rows) {
  int64_t total = 0;
  for (const Row& row : rows) {
    total += row.numel;
  }
  return total;
}

}  // namespace detail

/// make_row(update) of each update whose parameter's elements are of type T.
template <typename T, typename Update, typename F>
auto rows_of(const std::vector<Update>& updates, const F& make_row) {
  std::vector<std::invoke_result_t<F, const Update&>> rows;
  for (const Update& update : updates) {
    if (update.dtype != dtype_of<T>) {
      continue;
    }
    if (rows.empty()) {
      rows.reserve(updates.size());
    }
    rows.push_back(make_row(update));
  }
  return rows;
}

/// The pieces into which for_each_row cuts its work.
template <typename Row>
int64_t piece_count(const std::vector<Row>& rows, int64_t cost) {
  const int64_t grain = grain_for(cost);
  return ceil_div(detail::numel_of(rows), grain);
}

/// Calls f(row, begin, end, piece) for pieces [begin, end) of the elements of
/// every row (row.numel of them), as if all rows lay one behind the other: one
/// parallel loop, however many small parameters a model has. Calls of one
/// `piece` follow each other on one thread. `cost` is that of an element, as in
/// grain_for().
template <typename Row, typename F>
void for_each_row(const std::vector<Row>& rows, int64_t cost, const F& f) {
  const int64_t grain = grain_for(cost);
  const int64_t total = detail::numel_of(rows);
  if (total <= grain) {  // without a table of rows, which would cost more
    for (const Row& row : rows) {
      f(row, int64_t{0}, row.numel, int64_t{0});
    }
    return;
  }
  std::vector<int64_t> starts;  // of each row among all elements
  starts.reserve(rows.size());
  int64_t next = 0;
  for (const Row& row : rows) {
    starts.push_back(next);
    next += row.numel;
  }
  parallel_for(total, grain, [&](int64_t begin, int64_t end) {
    const int64_t piece = begin / grain;
    auto start = std::upper_bound(starts.begin(), starts.end(), begin) - 1;
    for (; begin < end; ++start) {
      const Row& row = rows[start - starts.begin()];
      const int64_t stop = std::min(end, *start + row.numel);
      f(row, begin - *start, stop - *start, piece);
      begin = stop;
    }
  });
}

}  // namespace heed
