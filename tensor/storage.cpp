#include "tensor/storage.h"

#include <new>

#include "tensor/memory.h"

namespace heed {

Storage::Storage(int64_t bytes) {
  const size_t total = sizeof(Block) + static_cast<size_t>(bytes);
  block_ = new (detail::pool_allocate(total)) Block{{1}, {0}, total};
}

void Storage::free_block() noexcept {
  detail::pool_free(block_, block_->bytes);
}

}  // namespace heed
