#pragma once

#include <cstdint>

#include "tensor/generator.h"
#include "tensor/tensor.h"

/// Initial values of parameters. To start one anew:
///
///     Tensor w = layer.weight().value();
///     w.copy_(init::xavier_normal(w.shape()));
namespace heed::init {

struct InitOptions {
  DType dtype = kFloat32;
  Generator& generator = default_generator();
};

/// What the layer's activation does to the variance, by which Kaiming's
/// initialisation makes up: gain 1, sqrt(2) and 5 / 3.
enum class Nonlinearity { linear, relu, tanh };

/// Uniform in [low, high). Throws std::invalid_argument unless low <= high.
Tensor uniform(
    const Shape& shape,
    double low,
    double high,
    const InitOptions& options = {});
/// Normal. Throws std::invalid_argument unless std >= 0.
Tensor normal(
    const Shape& shape,
    double mean,
    double std,
    const InitOptions& options = {});
/// Elements all `value`.
Tensor constant(
    const Shape& shape, double value, const InitOptions& options = {});

// The four below are for weights [fan_out, fan_in] or [out, in, ...], where the
// sizes behind the second multiply both fans. All throw std::invalid_argument
// for fewer than two dimensions or an empty weight.

/// Uniform in +-gain sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010).
Tensor xavier_uniform(
    const Shape& shape, double gain = 1, const InitOptions& options = {});
/// Normal with std gain sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010).
Tensor xavier_normal(
    const Shape& shape, double gain = 1, const InitOptions& options = {});
/// Uniform in +-gain sqrt(3 / fan_in) (He et al. 2015, arXiv:1502.01852).
Tensor kaiming_uniform(
    const Shape& shape,
    Nonlinearity nonlinearity = Nonlinearity::relu,
    const InitOptions& options = {});
/// Normal with std gain / sqrt(fan_in) (He et al. 2015, arXiv:1502.01852).
Tensor kaiming_normal(
    const Shape& shape,
    Nonlinearity nonlinearity = Nonlinearity::relu,
    const InitOptions& options = {});

}  // namespace heed::init
