#include "nn/decoding_state.h"

#include "tensor/creation.h"
#include "tensor/error.h"
#include "tensor/indexing.h"

namespace heed {
namespace {

/// The source that each `rows_per_source` neighbours of `rows` come from, where
/// `state` has row rows[i]. Throws unless they come from one.
std::vector<int64_t> sources_of(
    const DecodingState& state,
    const std::vector<int64_t>& rows,
    int64_t rows_per_source) {
  const auto count = static_cast<int64_t>(rows.size());
  if (rows_per_source < 1 || count % rows_per_source != 0) {
    fail(
        "DecodingState",
        "rows must be a multiple of rows_per_source, got ",
        count,
        " and ",
        rows_per_source);
  }
  std::vector<int64_t> sources;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = rows[static_cast<size_t>(i)];
    if (row < 0 || row >= state.batch) {
      fail(
          "DecodingState", "rows must be in [0, ", state.batch, "), got ", row);
    }
    const int64_t source = row / state.rows_per_source;
    if (i % rows_per_source == 0) {
      sources.push_back(source);
    } else if (source != sources.back()) {
      fail(
          "DecodingState",
          "rows of one source must come from one, got ",
          row,
          " at ",
          i);
    }
  }
  return sources;
}

bool counts_up_to(const std::vector<int64_t>& sources, int64_t end) {
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources[i] != static_cast<int64_t>(i)) {
      return false;
    }
  }
  return static_cast<int64_t>(sources.size()) == end;
}

Tensor selected(const Tensor& x, const std::vector<int64_t>& rows) {
  const Shape shape{static_cast<int64_t>(rows.size())};
  return x.defined() ? index_select(x, 0, from_vector(rows, shape)) : x;
}

}  // namespace

void DecodingState::select_rows(
    const std::vector<int64_t>& rows, int64_t new_rows_per_source) {
  const std::vector<int64_t> sources =
      sources_of(*this, rows, new_rows_per_source);
  const bool all_sources = counts_up_to(sources, batch / rows_per_source);
  for (DecoderLayerCache& layer : layers) {
    layer.self.select_rows(rows);
    if (!all_sources) {
      layer.cross.select_rows(sources);
    }
  }
  if (!all_sources) {
    memory_padding = selected(memory_padding, sources);
  }
  padding = selected(padding, rows);
  batch = static_cast<int64_t>(rows.size());
  rows_per_source = new_rows_per_source;
}

}  // namespace heed
