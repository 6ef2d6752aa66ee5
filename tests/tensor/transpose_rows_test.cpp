#include "tensor/transpose_rows.h"

#include <doctest/doctest.h>

#include <vector>

using namespace heed;

TEST_CASE_TEMPLATE(
    "transpose_rows: columns, scaled, and the last row again",
    T,
    float,
    double) {
  constexpr int kBytes = 16;
  for (const int64_t lanes : {4, 8, 16}) {
    for (int64_t n = 1; n <= lanes; ++n) {
      for (const int64_t width : {1, 3, 4, 11}) {
        CAPTURE(lanes);
        CAPTURE(n);
        CAPTURE(width);
        const int64_t row = width + 2;  // the rows are part of a wider matrix
        std::vector<T> x(static_cast<size_t>(n * row));
        for (size_t i = 0; i < x.size(); ++i) {
          x[i] = static_cast<T>(i + 1);
        }
        const int64_t y_row = lanes + n % 2;  // likewise
        std::vector<T> y(static_cast<size_t>(width * y_row + 1), T(-1));
        transpose_rows<T, kBytes>(
            x.data(), row, n, width, lanes, T(0.5), y.data(), y_row);
        for (int64_t d = 0; d < width; ++d) {
          for (int64_t q = 0; q < y_row; ++q) {
            const int64_t from = q < n ? q : n - 1;
            REQUIRE(
                y[static_cast<size_t>(d * y_row + q)] ==
                (q == lanes ? T(-1)
                            : T(0.5) * x[static_cast<size_t>(from * row + d)]));
          }
        }
        CHECK(y.back() == T(-1));
      }
    }
  }
}
