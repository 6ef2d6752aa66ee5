#include "examples/output_file.h"

#include <heed/tensor/atomic_file.h>

namespace examples {

void check_writable(const std::string& path) {
  const heed::AtomicFile never_committed("check_writable", path);
}

void write_file(const std::string& path, const std::string& content) {
  heed::AtomicFile file("write_file", path);
  file.write(content);
  file.commit();
}

}  // namespace examples
