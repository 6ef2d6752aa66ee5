#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tensor/error.h"

namespace heed {

/// A file read once from its beginning to its end. Who reads it checks each
/// size in it against remaining() before he makes room for so much.
/// All members throw std::runtime_error that names the file.
class InputFile {
 public:
  /// Errors are in the name of `who`. Refuses what is no regular file.
  InputFile(std::string_view who, const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  int64_t size() const { return size_; }
  /// Bytes not read yet.
  int64_t remaining() const { return remaining_; }

  /// The next bytes; there must be so many.
  void read(void* data, int64_t bytes);

  /// Throws what is wrong with the file: "who: path: what must hold, got what".
  template <typename... Args>
  [[noreturn]] void reject(const Args&... args) const {
    fail<std::runtime_error>(who_, path_, ": ", args...);
  }

 private:
  const std::string who_;
  const std::string path_;
  int descriptor_ = -1;
  int64_t size_ = 0;
  int64_t remaining_ = 0;
};

}  // namespace heed
