#pragma once

#include <string>

namespace examples {

/// Throws std::runtime_error, with the reason, when write_file() could not
/// write the file; leaves what is in it.
void check_writable(const std::string& path);

/// Replaces the file as a whole or, when it throws std::runtime_error with the
/// reason, not at all.
void write_file(const std::string& path, const std::string& content);

}  // namespace examples
