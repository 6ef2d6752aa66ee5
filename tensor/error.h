#pragma once

#include <sstream>
#include <stdexcept>
#include <string_view>

namespace heed {

namespace detail {

template <typename Error>
[[noreturn, gnu::cold, gnu::noinline]] void raise(
    const std::ostringstream& message) {
  throw Error(message.str());
}

}  // namespace detail

/// Throws Error with the message "who: message", the message being the other
/// arguments written one after the other:
///
///     fail("LayerNorm", "x must have shape [..., 8], got ", shape);
///
/// std::invalid_argument (the default) is a caller's mistake, std::logic_error
/// misuse of state, std::runtime_error trouble with the world outside.
/// (Arguments go by value so that literals of all lengths are one type.)
template <typename Error = std::invalid_argument, typename... Args>
[[noreturn, gnu::cold, gnu::noinline]] void fail(
    std::string_view who, Args... args) {
  std::ostringstream message;
  message << who << ": ";
  (message << ... << args);
  detail::raise<Error>(message);
}

}  // namespace heed
