#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tensor/parallel.h"

namespace heed {

/// Calls f(row, begin, end) for pieces [begin, end) of the elements of every
/// row, as if all rows lay one behind the other: one parallel loop, however
/// many small parameters a model has. A Row has a `numel`. `cost` is that of
/// an element, as in grain_for().
template <typename Row, typename F>
void for_each_row(const std::vector<Row>& rows, int64_t cost, const F& f) {
  std::vector<int64_t> starts;  // of each row among all elements
  starts.reserve(rows.size());
  int64_t total = 0;
  for (const Row& row : rows) {
    starts.push_back(total);
    total += row.numel;
  }
  parallel_for(total, grain_for(cost), [&](int64_t begin, int64_t end) {
    auto start = std::upper_bound(starts.begin(), starts.end(), begin) - 1;
    for (; begin < end; ++start) {
      const Row& row = rows[start - starts.begin()];
      const int64_t stop = std::min(end, *start + row.numel);
      f(row, begin - *start, stop - *start);
      begin = stop;
    }
  });
}

}  // namespace heed
