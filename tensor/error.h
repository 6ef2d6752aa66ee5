#pragma once

#include <sstream>
#include <stdexcept>
#include <string_view>

namespace heed {

/// Throws Error with the message "who: message", the message being the other
/// arguments written one after the other:
///
///     fail("LayerNorm", "x must have shape [..., 8], got ", shape);
///
/// std::invalid_argument (the default) is a caller's mistake, std::logic_error
/// misuse of state, std::runtime_error trouble with the world outside.
template <typename Error = std::invalid_argument, typename... Args>
[[noreturn, gnu::cold, gnu::noinline]] void fail(
    std::string_view who, const Args&... args) {
  std::ostringstream message;
  message << who << ": ";
  (message << ... << args);
  throw Error(message.str());
}

}  // namespace heed
