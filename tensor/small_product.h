#pragma once

#include <cstdint>

namespace heed {

/// C = A B, or C += A B, for matrices that fit in the first caches: in the
/// caller's thread, without packing either of them. Each element is summed up
/// in the order of k, whatever the sizes are.
///
/// Shape:       A [m, k], B [k, n], C [m, n]; any of them may be 0
/// Parameters:  a_row, a_column  elements from one row, and one column, of A to
///              the next: transposing A is exchanging them
///              b_row, c_row  from one row to the next; columns are adjacent
template <typename T>
struct SmallProduct {
  int64_t m;
  int64_t n;
  int64_t k;
  const T* a;
  int64_t a_row;
  int64_t a_column;
  const T* b;
  int64_t b_row;
  T* c;
  int64_t c_row;
  bool add = false;
};

/// Computes C.
void multiply_small(const SmallProduct<float>& product);
void multiply_small(const SmallProduct<double>& product);

}  // namespace heed
