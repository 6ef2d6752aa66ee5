#include "examples/output_file.h"

#include <heed/tensor/atomic_file.h>
#include <heed/tensor/error.h>

#include <filesystem>
#include <stdexcept>

namespace examples {

void check_output(
    const std::string& path, const std::vector<std::string>& read) {
  for (const std::string& other : read) {
    std::error_code is_another;
    if (!other.empty() &&
        std::filesystem::equivalent(path, other, is_another)) {
      heed::fail<std::runtime_error>(
          "output", "must not replace what is read, got ", path);
    }
  }
  const heed::AtomicFile never_committed("output", path);
}

void write_file(const std::string& path, const std::string& content) {
  heed::AtomicFile file("output", path);
  file.write(content);
  file.commit();
}

}  // namespace examples
