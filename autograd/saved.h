#pragma once

#include "autograd/variable.h"

namespace heed {

/// A value that a rule keeps for backward, with the version its storage had.
/// Reading it throws std::logic_error when it was overwritten since, naming the
/// operation whose rule is running.
template <typename T>
class Saved {
 public:
  explicit Saved(const T& value) : value_(value), version_(version_of(value)) {}

  operator const T&() const { return get(); }
  const T& get() const {
    if (version_ != version_of(value_)) {
      fail_overwritten(version_, version_of(value_));
    }
    return value_;
  }
  /// Its shape, which no write can change.
  const Shape& shape() const { return value_.shape(); }

 private:
  static uint32_t version_of(const Tensor& x) {
    return x.defined() ? x.version() : 0;
  }
  static uint32_t version_of(const Variable& x) {
    return x.defined() ? version_of(x.value()) : 0;
  }
  [[noreturn]] static void fail_overwritten(uint32_t saved, uint32_t now);

  T value_;
  uint32_t version_;
};

inline Saved<Variable> saved(const Variable& x) { return Saved<Variable>(x); }
inline Saved<Tensor> saved(const Tensor& x) { return Saved<Tensor>(x); }

}  // namespace heed
