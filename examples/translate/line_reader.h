#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace translate {

/// The lines of a descriptor as they come, without their line ends (\n or
/// \r\n) and without a byte order mark.
class LineReader {
 public:
  explicit LineReader(int descriptor) : descriptor_(descriptor) {}

  /// Waits for a line and takes with it those that are there already, at most
  /// `count` in all, so that whoever writes a line and waits gets its answer.
  /// None at the end. Throws std::runtime_error when nothing can be read.
  std::vector<std::string> next(size_t count);

 private:
  bool would_wait() const;
  void read_more();
  std::string take(size_t end);

  const int descriptor_;
  std::string bytes_;  // read
  size_t taken_ = 0;   // of bytes_
  bool begun_ = false;
  bool ended_ = false;
};

}  // namespace translate
