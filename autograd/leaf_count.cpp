#include "autograd/leaf_count.h"

namespace heed {
namespace {

thread_local int64_t unregistered = 0;

}  // namespace

int64_t unregistered_leaves() { return unregistered; }

void register_leaf() { --unregistered; }

void detail::count_new_leaf() { ++unregistered; }

}  // namespace heed
