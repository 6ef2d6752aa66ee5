#pragma once

#include <heed/tensor/tensor.h>

#include <string>
#include <vector>

namespace examples {

/// Weights in [0, 1] as a picture: a row for each query, a column for each key.
struct HeatMap {
  std::string title;
  heed::Tensor weights;  ///< [rows, columns]
  std::vector<std::string> row_labels;
  std::vector<std::string> column_labels;
};

/// A text picture for a terminal, with the weights written in percent.
std::string to_terminal(const HeatMap& map);

/// A page of maps side by side, `columns` in a row, as one SVG document.
std::string to_svg(
    const std::string& title, const std::vector<HeatMap>& maps, int columns);

}  // namespace examples
