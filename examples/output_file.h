#pragma once

#include <string>
#include <vector>

namespace examples {

/// Throws std::runtime_error, with the reason, when write_file() could not
/// write the file, or it is one of those that are `read` (empty names are
/// none); leaves what is in it. To be called before the work, not after.
void check_output(
    const std::string& path, const std::vector<std::string>& read = {});

/// Replaces the file as a whole or, when it throws std::runtime_error with the
/// reason, not at all.
void write_file(const std::string& path, const std::string& content);

}  // namespace examples
