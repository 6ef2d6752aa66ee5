#include "autograd/packing.h"

#include "autograd/record.h"

namespace heed {

Variable pack(const Variable& x, const Packing& packing) {
  return record(
      "pack",
      pack(x.value(), packing),
      {{x, [packing](const Variable& dy) { return unpack(dy, packing); }}});
}

Variable unpack(const Variable& x, const Packing& packing) {
  return record(
      "unpack",
      unpack(x.value(), packing),
      {{x, [packing](const Variable& dy) { return pack(dy, packing); }}});
}

}  // namespace heed
