#pragma once

#include <cstdint>
#include <string_view>

#include "tensor/tensor.h"

namespace heed {

// Indices and ids are int64 and count from 0. All throw std::invalid_argument
// for shapes and dtypes that do not fit, and for an index out of range, naming
// its value, its position and the range.

/// Picks one element a place along `dim`; in three dimensions, for dim = 1,
///
///     y[i, j, k] = x[i, index[i, j, k], k]
///
/// Shape: x [*], index of the same rank and, but for `dim`, nowhere larger -> y
/// shaped as index.
Tensor gather(const Tensor& x, int64_t dim, const Tensor& index);

/// The given indices of a dimension, in that order.
/// Shape: x [*, n, *], index [m] -> y [*, m, *].
Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index);

/// A copy of x to which src is added where index points, the inverse way of
/// gather; for dim = 1,
///
///     y[i, index[i, j, k], k] += src[i, j, k]
///
/// Additions to one element happen in the order of j, whatever the number of
/// threads.
/// Shape: x [*], index and src of one shape, of x's rank and, but for `dim`,
/// nowhere larger than x -> y shaped as x.
Tensor scatter_add(
    const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);

/// A 1 at the place of the id among zeros.
/// Shape: ids [*] -> y [*, num_classes].
Tensor one_hot(const Tensor& ids, int64_t num_classes, DType dtype = kFloat32);

/// Throws in the name of `who` for an index that is not in [0, size): its
/// position is element number `element` of an index tensor of shape `shape`.
[[noreturn]] void fail_out_of_range(
    std::string_view who,
    std::string_view name,
    int64_t value,
    int64_t size,
    int64_t element,
    const Shape& shape);

/// Throws in the name of `who` unless `ids` is defined and int64.
void check_ids(
    std::string_view who, const Tensor& ids, std::string_view name = "ids");

}  // namespace heed
