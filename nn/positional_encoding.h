#pragma once

#include <mutex>

#include "nn/module.h"
#include "tensor/generator.h"

namespace heed {

/// Tells an attention where in its sequence each vector stands.
class PositionalEncoding : public Module {
 public:
  /// x [B, T, d_model] plus the vectors of the positions offset, offset + 1,
  /// ... Throws std::invalid_argument for another d_model, a negative offset or
  /// positions that there are no vectors for.
  virtual Variable forward(const Variable& x, int64_t offset = 0) const = 0;
};

/// Sines and cosines of geometrically growing wavelengths (Vaswani et al. 2017,
/// arXiv:1706.03762, section 3.5):
///
///     PE(pos, 2i)     = sin(pos / 10000^(2i / d_model))
///     PE(pos, 2i + 1) = cos(pos / 10000^(2i / d_model))
///
/// For any length. No parameters.
class SinusoidalPositionalEncoding : public PositionalEncoding {
 public:
  /// Throws std::invalid_argument unless d_model > 0.
  explicit SinusoidalPositionalEncoding(int64_t d_model);

  Variable forward(const Variable& x, int64_t offset = 0) const override;
  std::string describe() const override;

 private:
  int64_t d_model_;
  mutable std::mutex mutex_;
  mutable Tensor table_;  // [positions computed so far, d_model]
};

/// PE of the positions 0 .. length - 1, [length, d_model]; see
/// SinusoidalPositionalEncoding.
Tensor sinusoidal_positions(int64_t length, int64_t d_model, DType dtype);

struct LearnedPositionalEncodingOptions {
  DType dtype = kFloat32;
  Generator& generator = default_generator();  ///< For the initial values.
};

/// A learned vector for each of the first max_length positions. Starts normal
/// with mean 0 and std 0.02.
///
/// Parameters:  weight [max_length, d_model]
class LearnedPositionalEncoding : public PositionalEncoding {
 public:
  /// Throws std::invalid_argument unless both sizes are positive.
  LearnedPositionalEncoding(
      int64_t max_length,
      int64_t d_model,
      const LearnedPositionalEncodingOptions& options = {});

  Variable forward(const Variable& x, int64_t offset = 0) const override;
  std::string describe() const override;

 private:
  int64_t max_length_;
  int64_t d_model_;
  Variable weight_;
};

}  // namespace heed
