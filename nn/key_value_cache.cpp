#include "nn/key_value_cache.h"

#include <algorithm>
#include <utility>

#include "tensor/parallel.h"

namespace heed {
namespace {

Tensor grown(const Tensor& old, int64_t length, int64_t room) {
  const Shape& shape = old.shape();
  Tensor larger({shape[0], shape[1], room, shape[3]}, old.dtype());
  larger.slice(2, 0, length).copy_(old.slice(2, 0, length));
  return larger;
}

/// Whether rows can be copied one after the other into where they came from:
/// none is overwritten that another is yet to be copied from.
bool can_select_in_place(const std::vector<int64_t>& rows, int64_t size) {
  const auto count = static_cast<int64_t>(rows.size());
  return count <= size &&
         std::all_of(rows.begin(), rows.end(), [&](int64_t row) {
           return row >= count || rows[static_cast<size_t>(row)] == row;
         });
}

/// The first `length` positions of row rows[i] of `from` to row i of `to`.
void copy_rows(
    const Tensor& from,
    const std::vector<int64_t>& rows,
    int64_t length,
    Tensor& to) {
  const int64_t heads = to.size(1);
  const int64_t size = length * to.size(3);
  visit_floating("KeyValueCache", to.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* const source = from.data<T>();
    T* const target = to.mutable_data<T>();
    const int64_t cost = heads * (8 + size / 4);
    const auto count = static_cast<int64_t>(rows.size());
    parallel_for(count, grain_for(cost), [&](int64_t i, int64_t end) {
      for (; i < end; ++i) {
        const T* const x =
            source + rows[static_cast<size_t>(i)] * from.stride(0);
        T* const y = target + i * to.stride(0);
        for (int64_t h = 0; x != y && h < heads; ++h) {
          std::copy_n(x + h * from.stride(1), size, y + h * to.stride(1));
        }
      }
    });
  });
}

}  // namespace

// The copy sees what is used and none of the room, so it grows before it
// writes.
KeyValueCache::KeyValueCache(const KeyValueCache& other)
    : length_(other.length_), keys_(other.key()), values_(other.value()) {}

KeyValueCache& KeyValueCache::operator=(KeyValueCache other) noexcept {
  std::swap(length_, other.length_);
  std::swap(keys_, other.keys_);
  std::swap(values_, other.values_);
  return *this;
}

void KeyValueCache::append(const Tensor& key, const Tensor& value) {
  check_defined("KeyValueCache", key, "key");
  check_defined("KeyValueCache", value, "value");
  const bool fits =
      key.dim() == 4 && value.shape() == key.shape() &&
      value.dtype() == key.dtype() &&
      (!keys_.defined() ||
       (key.size(0) == keys_.size(0) && key.size(1) == keys_.size(1) &&
        key.size(3) == keys_.size(3) && key.dtype() == keys_.dtype()));
  if (!fits) {
    fail(
        "KeyValueCache",
        "key and value must both have shape [B, num_heads, t, head_dim] and "
        "agree with earlier ones, got ",
        key.shape(),
        " and ",
        value.shape());
  }
  const int64_t total = length_ + key.size(2);
  if (!keys_.defined()) {
    keys_ = key.contiguous();
    values_ = value.contiguous();
  } else {
    if (total > keys_.size(2)) {
      const int64_t room = std::max<int64_t>({total, 2 * length_, 16});
      keys_ = grown(keys_, length_, room);
      values_ = grown(values_, length_, room);
    }
    keys_.slice(2, length_, total).copy_(key);
    values_.slice(2, length_, total).copy_(value);
  }
  length_ = total;
}

void KeyValueCache::select_rows(const std::vector<int64_t>& rows) {
  if (!keys_.defined()) {
    return;
  }
  const int64_t size = keys_.size(0);
  for (const int64_t row : rows) {
    if (row < 0 || row >= size) {
      fail("KeyValueCache", "rows must be in [0, ", size, "), got ", row);
    }
  }
  const auto count = static_cast<int64_t>(rows.size());
  for (Tensor* x : {&keys_, &values_}) {
    // Who shares the storage must not see it change.
    const bool in_place = x->is_unique() && can_select_in_place(rows, size);
    Tensor to =
        in_place
            ? x->slice(0, 0, count)
            : Tensor({count, x->size(1), x->size(2), x->size(3)}, x->dtype());
    copy_rows(*x, rows, length_, to);
    *x = std::move(to);
  }
}

Tensor KeyValueCache::key() const {
  return keys_.defined() ? keys_.slice(2, 0, length_) : Tensor();
}

Tensor KeyValueCache::value() const {
  return keys_.defined() ? values_.slice(2, 0, length_) : Tensor();
}

}  // namespace heed
