#include <algorithm>
#include <functional>
#include <utility>

#include "tensor/arithmetic.h"
#include "tensor/elementwise_loop.h"
#include "tensor/simd.h"
#include "tensor/strided_loop.h"
#include "tensor/tensor.h"
#include "tensor/transposed_copy.h"

namespace heed {
namespace {

void check_writable(std::string_view who, const Tensor& out) {
  check_defined(who, out, "the destination");
  if (out.has_internal_overlap()) {
    fail(
        who,
        "the destination's elements must not share memory, got an expanded "
        "view of shape ",
        out.shape(),
        " and strides ",
        out.strides(),
        "; write to a clone()");
  }
}

// The first and last element that a tensor with elements reaches.
std::pair<int64_t, int64_t> extent(const Tensor& x) {
  int64_t last = x.storage_offset();
  for (int64_t d = 0; d < x.dim(); ++d) {
    last += (x.shape()[d] - 1) * x.strides()[d];
  }
  return {x.storage_offset(), last};
}

// Whether writing out element by element could change x before it is read.
bool write_disturbs(const Tensor& out, const Tensor& x) {
  if (!out.shares_storage(x) || out.numel() == 0 || x.numel() == 0) {
    return false;
  }
  const bool same = out.storage_offset() == x.storage_offset() &&
                    out.shape() == x.shape() && out.strides() == x.strides();
  const auto [out_first, out_last] = extent(out);
  const auto [x_first, x_last] = extent(x);
  return !same && out_first <= x_last && x_first <= out_last;
}

// What stands on the right of an in-place operation on `out`, checked, and
// copied where the write would disturb it.
Tensor operand(std::string_view who, const Tensor& out, const Tensor& x) {
  check_writable(who, out);
  check_defined(who, x, "other");
  if (!is_broadcastable_to(x.shape(), out.shape())) {
    fail(
        who,
        "other must broadcast to the destination, got ",
        x.shape(),
        " for ",
        out.shape());
  }
  return write_disturbs(out, x) ? x.clone() : x;
}

template <typename F>
void zip_in_place(
    std::string_view who, Tensor& out, const Tensor& other, const F& f) {
  check_same_dtype(who, out, other);
  const Tensor x = operand(who, out, other);
  visit_number(who, out.dtype(), [&]<typename T>(TypeTag<T>) {
    zip_into<T, T>(out, out, x, 1, [&f](T a, T b) { return f(a, b); });
  });
}

template <typename F>
void map_in_place(
    std::string_view who, Tensor& out, Scalar scalar, const F& f) {
  check_writable(who, out);
  visit_number(who, out.dtype(), [&]<typename T>(TypeTag<T>) {
    const T b = scalar.as<T>(who);
    map_into<T, T>(out, out, 1, [&f, b](T a) { return f(a, b); });
  });
}

template <typename T>
inline void fill_where(
    int64_t n,
    T* y,
    int64_t y_step,
    const uint8_t* mask,
    int64_t mask_step,
    T value) {
  if (y_step == 1 && mask_step == 1) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const T old = y[i];
      const int here = mask[i];
      y[i] = here != 0 ? value : old;
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    if (mask[i * mask_step] != 0) {
      y[i * y_step] = value;
    }
  }
}

// Quotients of integers are seldom integers.
void check_divisible(const Tensor& out) {
  check_defined("div_", out, "the destination");
  visit_floating("div_", out.dtype(), [](auto) {});
}

}  // namespace

Tensor& Tensor::fill_(Scalar value) {
  check_writable("fill_", *this);
  visit_dtype(dtype_, [&]<typename T>(TypeTag<T>) {
    const T v = value.as<T>("fill_");
    T* const y = mutable_data<T>();
    const StridedLoop<1> loop(shape_, {this});
    loop.run(1, [&](const auto& offset, int64_t n, const auto& stride) {
      T* const to = y + offset[0];
      if (stride[0] == 1) {
        std::fill_n(to, n, v);
      } else {
        for (int64_t i = 0; i < n; ++i) {
          to[i * stride[0]] = v;
        }
      }
    });
  });
  return *this;
}

Tensor& Tensor::copy_(const Tensor& other) {
  const Tensor x = operand("copy_", *this, other);
  if (x.dtype() != dtype_) {
    fail("copy_", "other must have dtype ", dtype_, ", got ", x.dtype());
  }
  if (!x.is_contiguous() && copy_transposed(*this, x)) {
    return *this;
  }
  visit_dtype(dtype_, [&]<typename T>(TypeTag<T>) {
    const StridedLoop<2> loop(shape_, {this, &x});
    T* const y = mutable_data<T>();
    const T* const a = x.data<T>();
    loop.run(1, [&](const auto& offset, int64_t n, const auto& stride) {
      T* const to = y + offset[0];
      const T* const from = a + offset[1];
      if (stride[0] == 1 && stride[1] == 1) {
        std::copy_n(from, n, to);
      } else {
        for (int64_t i = 0; i < n; ++i) {
          to[i * stride[0]] = from[i * stride[1]];
        }
      }
    });
  });
  return *this;
}

Tensor& Tensor::add_(const Tensor& other, Scalar alpha) {
  check_same_dtype("add_", *this, other);
  const Tensor x = operand("add_", *this, other);
  visit_number("add_", dtype_, [&]<typename T>(TypeTag<T>) {
    const T scale = alpha.as<T>("add_");
    zip_into<T, T>(*this, *this, x, 1, [scale](T a, T b) {
      return arithmetic::add(a, arithmetic::multiply(scale, b));
    });
  });
  return *this;
}

Tensor& Tensor::add_(Scalar other) {
  map_in_place("add_", *this, other, arithmetic::add);
  return *this;
}

Tensor& Tensor::sub_(const Tensor& other) {
  zip_in_place("sub_", *this, other, arithmetic::subtract);
  return *this;
}

Tensor& Tensor::sub_(Scalar other) {
  map_in_place("sub_", *this, other, arithmetic::subtract);
  return *this;
}

Tensor& Tensor::mul_(const Tensor& other) {
  zip_in_place("mul_", *this, other, arithmetic::multiply);
  return *this;
}

Tensor& Tensor::mul_(Scalar other) {
  map_in_place("mul_", *this, other, arithmetic::multiply);
  return *this;
}

Tensor& Tensor::div_(const Tensor& other) {
  check_divisible(*this);
  zip_in_place("div_", *this, other, std::divides<>());
  return *this;
}

Tensor& Tensor::div_(Scalar other) {
  check_divisible(*this);
  map_in_place("div_", *this, other, std::divides<>());
  return *this;
}

Tensor& Tensor::clamp_(Scalar low, Scalar high) {
  check_writable("clamp_", *this);
  visit_number("clamp_", dtype_, [&]<typename T>(TypeTag<T>) {
    const T least = low.as<T>("clamp_");
    const T most = high.as<T>("clamp_");
    if (!(least <= most)) {
      fail("clamp_", "low must be <= high, got ", least, " and ", most);
    }
    map_into<T, T>(*this, *this, 1, [least, most](T v) {
      return v < least ? least : v > most ? most : v;
    });
  });
  return *this;
}

Tensor& Tensor::masked_fill_(const Tensor& mask, Scalar value) {
  const Tensor m = operand("masked_fill_", *this, mask);
  if (m.dtype() != kBool) {
    fail("masked_fill_", "mask must have dtype bool, got ", m.dtype());
  }
  const StridedLoop<2> loop(shape_, {this, &m});
  visit_dtype(dtype_, [&]<typename T>(TypeTag<T>) {
    const T v = value.as<T>("masked_fill_");
    T* const y = mutable_data<T>();
    // As bytes: loads of bool are not vectorised.
    const auto* const hit = reinterpret_cast<const uint8_t*>(m.data<bool>());
    loop.run(1, [&](const auto& offset, int64_t n, const auto& stride) {
      simd::call<fill_where<T>>(
          n, y + offset[0], stride[0], hit + offset[1], stride[1], v);
    });
  });
  return *this;
}

}  // namespace heed
