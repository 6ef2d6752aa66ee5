#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace heed {

/// How numbers are laid out; NumPy's defaults.
struct PrintOptions {
  int precision = 8;         ///< Digits after the point, at most.
  int64_t threshold = 1000;  ///< More elements than this are summarised,
  int64_t edge_items = 3;    ///< each long dimension by this many at its ends.
  int64_t line_width = 75;   ///< Characters; longer rows are wrapped.
};

/// The tensor as NumPy would write it:
///
///     tensor([[1.  , 2.5 ],
///             [3.25,  inf]])
///
/// All numbers share one width; floating ones have as many digits as it takes
/// to tell them from their neighbours, at most `precision` behind the point,
/// and an exponent where the largest is 1e8 or more, the smallest below 1e-4 or
/// 1000 times smaller than the largest. The dtype is named where the numbers do
/// not show it, the shape where they are not all there.
///
/// `notes` stands behind all that, as in ", requires_grad=true".
std::string to_string(
    const Tensor& x,
    const PrintOptions& options = {},
    std::string_view notes = {});

/// Writes to_string(x).
std::ostream& operator<<(std::ostream& out, const Tensor& x);

}  // namespace heed
