#pragma once

#include <cstdint>
#include <optional>

#include "autograd/variable.h"
#include "tensor/embedding.h"

namespace heed {

/// Differentiable embedding: dweight adds up the rows of dy by id. The row
/// `padding_idx` is looked up as any other and gets no gradient.
/// Throws std::invalid_argument as embedding of tensors, and unless padding_idx
/// is in [0, V).
Variable embedding(
    const Variable& weight,
    const Tensor& ids,
    std::optional<int64_t> padding_idx = std::nullopt);

}  // namespace heed
