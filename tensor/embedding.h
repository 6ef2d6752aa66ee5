#pragma once

#include <cstdint>
#include <optional>

#include "tensor/tensor.h"

namespace heed {

/// The rows of weight that the ids name.
/// Shape: weight [V, d], ids int64 [*] -> y [*, d].
/// Throws std::invalid_argument for an id that is not in [0, V), naming it and
/// its position.
Tensor embedding(const Tensor& weight, const Tensor& ids);

/// The gradient of embedding's weight: the rows of dy added up by id, in the
/// order of the ids whatever the number of threads. The row `padding_idx` stays
/// zero.
/// Shape: dy [*, d], ids int64 [*] -> dweight [num_embeddings, d].
/// Throws as embedding, and for what does not fit.
Tensor embedding_backward(
    const Tensor& dy,
    const Tensor& ids,
    int64_t num_embeddings,
    std::optional<int64_t> padding_idx = std::nullopt);

/// The same, added to dweight, which must be dense.
void embedding_backward_into(
    Tensor& dweight,
    const Tensor& dy,
    const Tensor& ids,
    std::optional<int64_t> padding_idx = std::nullopt);

}  // namespace heed
