#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "tensor/tensor.h"

namespace heed {

/// Tensors laid behind one another along an existing dimension; a copy.
/// Shape: n times [*, s_i, *] -> [*, s_1 + ... + s_n, *].
/// Throws std::invalid_argument unless there is at least one tensor and all
/// have one dtype and, but for `dim`, one shape.
Tensor cat(const std::vector<Tensor>& tensors, int64_t dim = 0);
/// As above; without it `cat({a, b})` could as well mean Variables.
inline Tensor cat(std::initializer_list<Tensor> tensors, int64_t dim = 0) {
  return cat(std::vector<Tensor>(tensors), dim);
}

/// Tensors of one shape laid behind one another along a new dimension; a copy.
/// Shape: n times [*] -> [*, n, *], n at `dim`.
/// Throws std::invalid_argument unless there is at least one tensor and all
/// have one dtype and one shape.
Tensor stack(const std::vector<Tensor>& tensors, int64_t dim = 0);
/// As above, for a list in braces.
inline Tensor stack(std::initializer_list<Tensor> tensors, int64_t dim = 0) {
  return stack(std::vector<Tensor>(tensors), dim);
}

/// Consecutive views of `size` indices of a dimension, the last one of what is
/// left. An empty dimension gives one empty view.
/// Throws std::invalid_argument unless size > 0.
std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim = 0);

/// Consecutive views of the given sizes.
/// Throws std::invalid_argument unless the sizes are >= 0 and add up to that of
/// the dimension.
std::vector<Tensor> split(
    const Tensor& x, const std::vector<int64_t>& sizes, int64_t dim = 0);

/// `chunks` consecutive views of equal size, the last one smaller when it must
/// be; fewer of them when the dimension ends before.
/// Throws std::invalid_argument unless chunks > 0.
std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim = 0);

/// The sizes of the views that split and chunk give, for a dimension of size
/// `length`; they throw in the name of split and chunk.
std::vector<int64_t> split_sizes(int64_t length, int64_t size);
std::vector<int64_t> chunk_sizes(int64_t length, int64_t chunks);

}  // namespace heed
