#include "nn/key_value_cache.h"

#include <algorithm>
#include <utility>

namespace heed {
namespace {

Tensor grown(const Tensor& old, int64_t length, int64_t room) {
  const Shape& shape = old.shape();
  Tensor larger({shape[0], shape[1], room, shape[3]}, old.dtype());
  larger.slice(2, 0, length).copy_(old.slice(2, 0, length));
  return larger;
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

Tensor KeyValueCache::key() const {
  return keys_.defined() ? keys_.slice(2, 0, length_) : Tensor();
}

Tensor KeyValueCache::value() const {
  return keys_.defined() ? values_.slice(2, 0, length_) : Tensor();
}

}  // namespace heed
