#pragma once

#include <cstdint>

#include "tensor/generator.h"
#include "tensor/tensor.h"

namespace heed {

// All draw from `generator`, whose numbers do not depend on the number of
// threads; elements are drawn in row-major order. Arguments are checked before
// anything is drawn or written.

/// Uniform in [0, 1): multiples of 2^-24 (float32) or 2^-53 (float64).
/// Throws std::invalid_argument unless dtype is float32 or float64.
Tensor rand(
    const Shape& shape,
    DType dtype = kFloat32,
    Generator& generator = default_generator());

/// Normal with mean 0 and standard deviation 1.
/// Throws std::invalid_argument unless dtype is float32 or float64.
Tensor randn(
    const Shape& shape,
    DType dtype = kFloat32,
    Generator& generator = default_generator());

/// Integers low ... high - 1, all equally likely.
/// Throws std::invalid_argument unless low < high, for bool, and when a
/// floating dtype does not hold all integers up to low or high.
Tensor randint(
    int64_t low,
    int64_t high,
    const Shape& shape,
    DType dtype = kInt64,
    Generator& generator = default_generator());

/// The integers 0 ... n - 1 in an order drawn from all n! (Fisher and Yates).
/// Shape: [n], int64
/// Throws std::invalid_argument unless n >= 0.
Tensor randperm(int64_t n, Generator& generator = default_generator());

/// 1, or true, with probability p, else 0. p is exact to 2^-32; 0 and 1 are
/// certain.
/// Throws std::invalid_argument unless 0 <= p <= 1.
Tensor bernoulli(
    double p,
    const Shape& shape,
    DType dtype = kFloat32,
    Generator& generator = default_generator());

/// As above, each element with a probability of its own; the result has the
/// shape and dtype of p.
/// Throws std::invalid_argument unless p is floating and all of it in [0, 1].
Tensor bernoulli(const Tensor& p, Generator& generator = default_generator());

/// Overwrites x with numbers uniform in [low, high); returns x.
/// Throws std::invalid_argument unless x is floating and no expanded view, and
/// low < high, finite numbers of its dtype whose difference is finite too.
Tensor& uniform_(
    Tensor& x,
    double low = 0.0,
    double high = 1.0,
    Generator& generator = default_generator());

/// Overwrites x with normal numbers; returns x.
/// Throws std::invalid_argument unless x is floating and no expanded view, mean
/// is finite and std is finite and >= 0.
Tensor& normal_(
    Tensor& x,
    double mean = 0.0,
    double std = 1.0,
    Generator& generator = default_generator());

}  // namespace heed
