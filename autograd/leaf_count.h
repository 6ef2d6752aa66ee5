#pragma once

#include <cstdint>

namespace heed {

/// Leaves that require a gradient, made on this thread so far and registered
/// with no module. A module compares it before and after its construction to
/// notice a parameter that it forgot to register.
int64_t unregistered_leaves();

/// Counts one leaf less: it has just been registered.
void register_leaf();

namespace detail {
void count_new_leaf();
}  // namespace detail

}  // namespace heed
