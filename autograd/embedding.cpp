#include "autograd/embedding.h"

#include "autograd/record.h"

namespace heed {
namespace {

using Padding = std::optional<int64_t>;

struct Lookup {
  Saved<Tensor> ids;
  Padding padding;
};

Variable add_rows(
    const Variable& dy, const Lookup& lookup, int64_t num_embeddings);

// The adjoint of add_rows: rows by id, zeros for padding.
Variable rows_of(const Variable& x, const Lookup& lookup) {
  const Tensor& ids = lookup.ids;
  Tensor y = embedding(x.value(), ids);
  if (lookup.padding) {
    const int64_t d = y.size(-1);
    const Tensor rows = y.reshape({ids.numel(), d});
    const std::vector<int64_t> id = ids.to_vector<int64_t>();
    for (int64_t i = 0; i < ids.numel(); ++i) {
      if (id[i] == *lookup.padding) {
        rows[i].zero_();
      }
    }
  }
  return record(
      "embedding", y, {{x, [lookup, size = x.size(0)](const Variable& dy) {
                          return add_rows(dy, lookup, size);
                        }}});
}

// Row i of dy added to row ids[i] of the result, but for padding.
Variable add_rows(
    const Variable& dy, const Lookup& lookup, int64_t num_embeddings) {
  return record(
      "embedding_backward",
      embedding_backward(
          dy.value(), lookup.ids, num_embeddings, lookup.padding),
      {{dy, [lookup](const Variable& ddy) { return rows_of(ddy, lookup); }}});
}

// Rows of dy, added up by id.
struct WeightRule {
  Lookup lookup;
  int64_t num_embeddings;

  Variable operator()(const Variable& dy) const {
    return add_rows(dy, lookup, num_embeddings);
  }
  bool add_to(Tensor& sum, const Variable& dy) const {
    embedding_backward_into(sum, dy.value(), lookup.ids, lookup.padding);
    return true;
  }
};

}  // namespace

Variable embedding(
    const Variable& weight, const Tensor& ids, Padding padding_idx) {
  const Tensor y = embedding(weight.value(), ids);
  const int64_t size = weight.size(0);
  if (padding_idx && (*padding_idx < 0 || *padding_idx >= size)) {
    fail(
        "embedding",
        "padding_idx must be in [0, ",
        size,
        "), got ",
        *padding_idx);
  }
  return record(
      "embedding",
      y,
      {{weight, WeightRule{Lookup{saved(ids), padding_idx}, size}}});
}

}  // namespace heed
