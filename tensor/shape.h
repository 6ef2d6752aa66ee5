#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

namespace heed {

/// The largest number of dimensions a tensor may have.
inline constexpr int64_t kMaxRank = 8;

/// Up to kMaxRank integers held inline: strides, a list of dimensions to
/// reduce, a permutation, a target shape with -1 in it.
class Dims {
 public:
  Dims() = default;
  /// Throws std::invalid_argument beyond kMaxRank entries, as all constructors.
  Dims(std::initializer_list<int64_t> values);
  /// One entry, so that `sum(x, 1)` may be written for `sum(x, {1})`.
  template <typename T>
  requires std::is_integral_v<T> &&(!std::is_same_v<T, bool>)Dims(T value)
      : Dims({static_cast<int64_t>(value)}) {}
  explicit Dims(std::span<const int64_t> values);

  int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t operator[](int64_t i) const { return values_[i]; }
  int64_t& operator[](int64_t i) { return values_[i]; }
  const int64_t* begin() const { return values_.data(); }
  const int64_t* end() const { return values_.data() + size_; }
  int64_t back() const { return values_[size_ - 1]; }
  void push_back(int64_t value) {
    if (size_ == kMaxRank) {
      fail_rank(size_ + 1);
    }
    values_[size_++] = value;
  }
  void insert(int64_t position, int64_t value);
  void erase(int64_t position);
  bool contains(int64_t value) const;

  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.size_ != b.size_) {
      return false;
    }
    for (int64_t i = 0; i < a.size_; ++i) {
      if (a.values_[i] != b.values_[i]) {
        return false;
      }
    }
    return true;
  }

 private:
  [[noreturn]] static void fail_rank(int64_t rank);

  std::array<int64_t, kMaxRank> values_{};
  int64_t size_ = 0;
};

/// Written as `[2, 3]`.
std::ostream& operator<<(std::ostream& out, const Dims& dims);

/// The sizes of a tensor, outermost first; every size is >= 0 and their
/// product fits 64 bits. `{}` is the shape of a single number.
class Shape {
 public:
  Shape() = default;
  /// Throws std::invalid_argument when a size is negative, when the number of
  /// elements overflows, or beyond kMaxRank dimensions.
  Shape(std::initializer_list<int64_t> sizes) : Shape(Dims(sizes)) {}
  explicit Shape(const Dims& sizes);

  /// Number of dimensions.
  int64_t size() const { return sizes_.size(); }
  bool empty() const { return sizes_.empty(); }
  /// Product of the sizes; 1 for a single number.
  int64_t numel() const { return numel_; }
  int64_t operator[](int64_t i) const { return sizes_[i]; }
  int64_t back() const { return sizes_.back(); }
  const int64_t* begin() const { return sizes_.begin(); }
  const int64_t* end() const { return sizes_.end(); }
  operator const Dims&() const { return sizes_; }

  friend bool operator==(const Shape& a, const Shape& b) {
    return a.sizes_ == b.sizes_;
  }

 private:
  Dims sizes_;
  int64_t numel_ = 1;
};

std::ostream& operator<<(std::ostream& out, const Shape& shape);

/// Strides, in elements, of a dense row-major tensor.
Dims contiguous_strides(const Shape& shape);

/// The dimension that `dim` names among `rank`, negative ones counting from
/// the end. Throws std::invalid_argument in the name of `who` when there is no
/// such dimension.
int64_t normalize_dim(std::string_view who, int64_t dim, int64_t rank);

/// `dims` normalised and sorted. Throws std::invalid_argument in the name of
/// `who` when one does not exist or is named twice.
Dims normalize_dims(std::string_view who, const Dims& dims, int64_t rank);

/// The shape that NumPy's rules broadcast `a` and `b` to: aligned at the end,
/// sizes equal or 1. Throws std::invalid_argument in the name of `who` when
/// they do not fit.
Shape broadcast_shapes(std::string_view who, const Shape& a, const Shape& b);

/// Whether `from` broadcasts to exactly `to`.
bool is_broadcastable_to(const Shape& from, const Shape& to);

/// `shape` with `dims` (normalised) set to 1, or removed without `keepdim`.
Shape reduced_shape(const Shape& shape, const Dims& dims, bool keepdim);

}  // namespace heed
